"""Messages between parent and benchmark process: files in its folder."""

from __future__ import annotations

import msgspec

from assay.core.records import Result
from assay.formats.perfzero.entries import BenchmarkEntry
from assay.formats.perfzero.names import Filter, Method
from assay.formats.perfzero.windows import Window

REQUEST, ANSWER, FOUND = "asked.json", "told.json", "found.json"
REPORTS, ENTRIES = "reports.jsonl", "reports.json"
PREFIX = "proto_"  # what TensorFlow's report files begin with


class BenchSetting(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of all methods of one run."""

    python: str = ""  # interpreter or virtual environment
    python_path: tuple[str, ...] = ()  # folders appended to the interpreter's path
    root_data_dir: str = "/data"
    tpu: str | None = None
    constructor_args: dict[str, object] = {}
    plain: bool = False  # the constructor gets nothing but constructor_args
    windows: tuple[Window, ...] = ()  # to be profiled
    timeout: float = 3600.0  # seconds, for one method


class RunMethod(msgspec.Struct, frozen=True, kw_only=True, tag="run"):
    """Construct the class and call the method."""

    method: Method
    setting: BenchSetting
    output_dir: str
    profile_dir: str = ""  # where traces of the windows go


class FindMethods(msgspec.Struct, frozen=True, kw_only=True, tag="find"):
    """List methods without calling or constructing anything."""

    filters: tuple[Filter, ...] = ()
    packages: tuple[str, ...] = ()
    python_path: tuple[str, ...] = ()


BenchRequest = RunMethod | FindMethods


class BenchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """State of a process, rewritten at every change."""

    framework: dict[str, str] = {}  # name, version, build_version of the framework in use
    packages: dict[str, str] = {}
    python: dict[str, str] = {}
    began: float = 0.0  # the call of the method, in seconds since 1970
    initialization: float = 0.0  # seconds: import and constructor
    execution: float = 0.0  # seconds: the method
    notes: tuple[str, ...] = ()  # of the profiler


class FoundMethods(msgspec.Struct, frozen=True, kw_only=True):
    names: dict[str, str] = {}  # method → first line of its docstring
    problems: dict[str, str] = {}  # module → why it could not be inspected


class BenchResult(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a method: the stored result and its sources."""

    result: Result
    method: Method
    trial: int
    entries: tuple[BenchmarkEntry, ...]
    answer: BenchAnswer
    folder: str
    output_dir: str
    started: float  # seconds since 1970
    has_exception: bool  # the process failed, whatever it reported
    notes: tuple[str, ...] = ()
