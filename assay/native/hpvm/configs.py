"""HPVM's configuration files: a device for each fused line of a network, a knob for each op.

0                                   milliseconds of the baseline for a batch; 0: not known
+++++
conf1 1 1 84.98 0                   name, speedup, energy, accuracy, loss of accuracy, …
1 gpu conv fp32 1 add fp32 1 tanh fp32 1
2 gpu conv perf_fp16 154 add fp16 1 tanh fp16 1 pool_max fp16 1
-----
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import msgspec

from assay.core.errors import AssayError, UsageError
from assay.core.files import user_path, write_user_file
from assay.native.hpvm.dataflow import LeafOp
from assay.native.hpvm.knobs import KINDS, kind_with_id

BEGIN, END = "+++++", "-----"
DEVICES = ("gpu", "cpu", "promise")
OPS = get_args(LeafOp)
SWING = "swing_level"  # of HPVM's analog accelerator: one for a whole line, without an op


class KnobChoice(msgspec.Struct, frozen=True):
    """A knob for one operation; op is "" if the knob is for the whole line."""

    op: str
    kind: str  # fp32, perf_fp16, …
    knob: int  # HPVM's id; of no meaning for fp32 and fp16, whose files have 1, 11 or 12


class ConfigLine(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    device: str
    choices: tuple[KnobChoice, ...]
    where: int = 0  # line of the file

    @property
    def ops(self) -> tuple[str, ...]:
        return tuple(choice.op for choice in self.choices)


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    speedup: float = 1.0
    energy: float = 1.0  # reduction factor over the baseline
    accuracy: float = 0.0  # percent, under this configuration
    loss: float = 0.0  # points below the baseline
    extra: tuple[str, ...] = ()  # further fields of the header
    lines: tuple[ConfigLine, ...] = ()
    where: int = 0

    @property
    def exact(self) -> bool:
        """Whether all of it has full precision."""
        return all(choice.kind == "fp32" for line in self.lines for choice in line.choices)


class ConfigFile(msgspec.Struct, frozen=True, kw_only=True):
    configurations: tuple[Configuration, ...]
    baseline: float = 0.0  # seconds of a batch; 0: not known
    place: str = ""  # for messages


def split_config_name(spec: str | Path) -> tuple[Path, str]:
    """Split FILE or FILE:NAME into the file and the name of a configuration, or ""."""
    path = user_path(spec)
    file, _, name = str(spec).rpartition(":")
    return (path, "") if path.exists() or not file else (user_path(file), name)


def read_configs(path: str | Path) -> ConfigFile:
    """All configurations of a file, in its order.

    Accepts blank lines, tabs, carriage returns, further header fields and a missing last newline;
    anything else is an error with its line.

    >>> assay.read_configs("tuner_confs.txt").configurations[0].name
    'conf1'
    """
    source = user_path(path)
    try:
        text = source.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"{source} cannot be read ({error.strerror}).", hint="Give a file of configurations."
        ) from None
    except UnicodeDecodeError:
        raise UsageError(
            f"{source} is no text, so it holds no configurations.", hint="Give tuner_confs.txt."
        ) from None
    return parse(text, str(source))


def parse(text: str, source: str = "the text") -> ConfigFile:
    rows = [
        (number, line.split()) for number, line in enumerate(text.split("\n"), 1) if line.strip()
    ]
    reader = _Reader(rows, source, text.count("\n") + 1)
    baseline = reader.baseline()
    configurations = tuple(reader.configurations())
    if not configurations:
        raise reader.error(reader.last, f"there is no configuration: none begins with {BEGIN}")
    return ConfigFile(configurations=configurations, baseline=baseline, place=source)


def write_configs(configs: ConfigFile, path: str | Path) -> None:
    """Write configurations in HPVM's format; reading the file gives equal ones.

    >>> assay.write_configs(configs, "sorted_confs.txt")
    """
    write_user_file(path, format_configs(configs).encode())


def format_configs(configs: ConfigFile) -> str:
    lines = [_number(round(configs.baseline * 1e3, 9))]
    for config in configs.configurations:
        numbers = (config.speedup, config.energy, config.accuracy, config.loss)
        lines += [BEGIN, " ".join([config.name, *map(_number, numbers), *config.extra])]
        lines += [_line_text(line) for line in config.lines]
        lines.append(END)
    return "\n".join(lines) + "\n"


def _line_text(line: ConfigLine) -> str:
    words = [str(line.number), line.device]
    for choice in line.choices:
        words += [*filter(None, (choice.op,)), choice.kind, str(choice.knob)]
    return " ".join(words)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


class _Reader:
    """The rows that are not blank, and where one is."""

    def __init__(self, rows: list[tuple[int, list[str]]], source: str, last: int) -> None:
        self.rows, self.place, self.last, self.at = rows, source, last, 0

    def error(self, where: int, what: str) -> AssayError:
        return UsageError(
            f"{self.place}, line {where}: {what}.",
            hint="docs/hpvm.md shows what a configuration file holds.",
        )

    def baseline(self) -> float:
        """The baseline's time in the first line; optional."""
        if not self.rows or self.rows[0][1] == [BEGIN]:
            return 0.0
        where, words = self.rows[0]
        self.at = 1
        if len(words) != 1:
            raise self.error(where, f"'{' '.join(words)}' stands where a time in ms is expected")
        return self.real(words[0], where, "the baseline's time") / 1e3

    def configurations(self) -> Iterator[Configuration]:
        while self.at < len(self.rows):
            where, words = self.rows[self.at]
            if words != [BEGIN]:
                raise self.error(where, f"'{' '.join(words)}' stands where {BEGIN} is expected")
            self.at += 1
            yield self.configuration(where)

    def configuration(self, start: int) -> Configuration:
        body: list[tuple[int, list[str]]] = []
        while self.at < len(self.rows) and self.rows[self.at][1] != [END]:
            body.append(self.rows[self.at])
            if body[-1][1] == [BEGIN]:
                raise self.error(body[-1][0], f"{BEGIN} stands before the {END} of line {start}'s")
            self.at += 1
        if self.at == len(self.rows):
            raise self.error(self.last, f"the configuration of line {start} has no {END}")
        self.at += 1
        if len(body) < 2:
            raise self.error(start, "a configuration needs a header and at least one line")
        return self.header(body[0], self.lines(body[1:]))

    def header(self, row: tuple[int, list[str]], lines: tuple[ConfigLine, ...]) -> Configuration:
        where, words = row
        if len(words) < 5:
            raise self.error(
                where, f"a header has a name and four numbers, but this is '{' '.join(words)}'"
            )
        names = ("speedup", "energy", "accuracy", "loss")
        values = [self.real(word, where, f"the {n}") for n, word in zip(names, words[1:5])]  # noqa: B905
        return Configuration(
            name=words[0],
            **dict(zip(names, values, strict=True)),
            extra=tuple(words[5:]),
            lines=lines,
            where=where,
        )

    def lines(self, body: Sequence[tuple[int, list[str]]]) -> tuple[ConfigLine, ...]:
        """Lines numbered from 1 or 0 without gaps."""
        lines = tuple(self.line(where, words) for where, words in body)
        first = lines[0].number
        for index, line in enumerate(lines):
            if first not in (0, 1) or line.number != first + index:
                expected = "0 or 1" if index == 0 else str(first + index)
                raise self.error(
                    line.where, f"it is numbered {line.number}, but {expected} is next"
                )
        return lines

    def line(self, where: int, words: list[str]) -> ConfigLine:
        if not words[0].isdecimal() or len(words) < 2:
            raise self.error(
                where, f"'{' '.join(words)}' does not begin with a number and a device"
            )
        if words[1] not in DEVICES:
            raise self.error(where, f"'{words[1]}' is no device; {', '.join(DEVICES)} are")
        return ConfigLine(
            number=int(words[0]),
            device=words[1],
            choices=tuple(self.choices(where, words[2:], words[1])),
            where=where,
        )

    def choices(self, where: int, words: list[str], device: str) -> Iterator[KnobChoice]:
        if not words:
            raise self.error(where, "no operation follows the device")
        while words:
            op = "" if device == "promise" and words[0] == SWING else words.pop(0)
            if op and op not in OPS:
                raise self.error(where, f"'{op}' is no operation; {', '.join(OPS)} are")
            if len(words) < 2:
                raise self.error(where, f"{op or SWING} needs a knob's name and number after it")
            yield self.choice(where, op, words.pop(0), words.pop(0))

    def choice(self, where: int, op: str, kind: str, knob: str) -> KnobChoice:
        if kind not in KINDS:
            raise self.error(where, f"'{kind}' is no knob; {', '.join(KINDS)} are")
        if not knob.isdecimal():
            raise self.error(where, f"'{knob}' stands where the number of {kind} is expected")
        if (problem := kind_with_id(kind, int(knob))) != "":
            raise self.error(where, problem)
        return KnobChoice(op, kind, int(knob))

    def real(self, text: str, where: int, what: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(where, f"{what} is '{text}', which is no number")
        return value
