"""What is built twice is kept, what fails leaves nothing, and a lack is told with its remedy."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import msgspec
import pytest

from assay.core.errors import AssayError, NotPossibleError
from assay.native import toolchain as compiler
from assay.native.build import RUNTIME, atomic_dir, build, digest, runtime_parts, tools_digest
from assay.native.emit import emit
from assay.native.toolchain import Toolchain, toolchain
from tests.native.test_emit import small

FAKE = Toolchain(command=("false",), version="0", flags=())


def test_without_a_compiler_it_is_told_what_to_install(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(NotPossibleError, match="No C\\+\\+ compiler") as caught:
        toolchain()

    assert "apt-get install g++" in caught.value.hint
    assert "apt-get install g++" in compiler.missing_compiler()


def test_a_compiler_that_is_not_here_is_named(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler -m64")

    with pytest.raises(NotPossibleError, match="CXX is no-such-compiler"):
        toolchain()


@pytest.mark.real("compiler")
def test_the_same_model_is_built_once(plain_tools, native_cache):
    emitted = emit(small("twice"))
    first = build(emitted, plain_tools, native_cache)
    stamp = first.program.stat().st_mtime_ns

    second = build(emitted, plain_tools, native_cache)

    assert (first.cached, second.cached) == (False, True)
    assert second.program.stat().st_mtime_ns == stamp


def slow_compiler(folder, seconds=0.2):
    """A compiler that writes an empty file after a while, and the file's name into `folder/log`."""
    script = folder / "compiler"
    script.write_text(
        f'#!/bin/sh\nfor last; do :; done\necho started >> "{folder}/started"\nsleep {seconds}\n'
        f'touch "$last"\nbasename "$last" >> "{folder}/log"\n'
    )
    script.chmod(0o755)
    return Toolchain(command=(str(script),), version="0", flags=())


def building_process(tools, cache):
    code = (
        "import sys, msgspec\nfrom pathlib import Path\n"
        "from assay.native.build import runtime_parts\n"
        "from assay.native.toolchain import Toolchain\n"
        "runtime_parts(msgspec.json.decode(sys.argv[1], type=Toolchain), Path(sys.argv[2]))"
    )
    words = [sys.executable, "-c", code, msgspec.json.encode(tools).decode(), str(cache)]
    return subprocess.Popen(words, start_new_session=True)


def test_two_processes_compile_the_runtime_once(tmp_path):
    tools = slow_compiler(tmp_path)

    processes = [building_process(tools, tmp_path / "cache") for _ in range(2)]

    assert [process.wait(60) for process in processes] == [0, 0]
    assert (tmp_path / "log").read_text().split() == ["entry.o", "runtime0.o"]


def test_an_interrupted_build_of_the_runtime_is_not_used(tmp_path):
    tools = slow_compiler(tmp_path, seconds=60)
    process = building_process(tools, tmp_path / "cache")
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)

    parts = runtime_parts(slow_compiler(tmp_path, seconds=0), tmp_path / "cache")

    assert (tmp_path / "log").read_text().split() == ["entry.o", "runtime0.o"]
    assert all(part.is_file() for part in parts)


def test_what_killed_builds_have_left_goes_after_a_day(tmp_path):
    for name, age in (("old", 2), ("new", 0)):
        (tmp_path / f".building-{name}").mkdir()
        stamp = time.time() - age * 24 * 3600
        os.utime(tmp_path / f".building-{name}", (stamp, stamp))

    with atomic_dir(tmp_path / "made") as fresh:
        (fresh / "file").write_text("")

    assert {path.name for path in tmp_path.iterdir()} == {".building-new", "made"}


def test_other_weights_flags_and_sources_are_other_builds():
    emitted = emit(small())
    heavier = {**emitted.constants, "conv/bias": emitted.constants["conv/bias"] + 1}
    others = [
        (msgspec.structs.replace(emitted, constants=heavier), FAKE),
        (msgspec.structs.replace(emitted, source=emitted.source + "\n"), FAKE),
        (emitted, msgspec.structs.replace(FAKE, flags=("-O3",))),
        (emitted, msgspec.structs.replace(FAKE, version="1")),
    ]

    digests = {digest(*each) for each in [(emitted, FAKE), *others]}

    assert len(digests) == 5


def test_another_cpu_model_compiler_flag_and_source_need_another_runtime(tmp_path, monkeypatch):
    def names() -> str:
        return tools_digest(tools)

    tools = FAKE
    digests = {names()}
    cpu = ["model\t: 1", "flags\t: sse avx"]
    monkeypatch.setattr("assay.native.build._cpu_lines", lambda: cpu)
    digests.add(names())
    cpu[0] = "model\t: 2"
    digests.add(names())
    cpu[1] = "flags\t: sse"
    digests.add(names())
    tools = msgspec.structs.replace(FAKE, flags=("-O3",))
    digests.add(names())
    tools = msgspec.structs.replace(tools, version="1")
    digests.add(names())
    shutil.copytree(RUNTIME, tmp_path / "runtime")
    (tmp_path / "runtime" / "runtime.cpp").write_text("// changed")
    monkeypatch.setattr("assay.native.build.RUNTIME", tmp_path / "runtime")
    digests.add(names())

    assert len(digests) == 7


def test_a_build_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(AssayError, match="could not compile"):
        build(emit(small()), FAKE, tmp_path / "cache")

    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_onednn_may_be_an_unpacked_folder(tmp_path, monkeypatch):
    for name in ("include/dnnl.hpp", "lib/libdnnl.so.3"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    monkeypatch.setenv("DNNLROOT", str(tmp_path))
    assert compiler.onednn_folder() == str(tmp_path)

    monkeypatch.setenv("DNNLROOT", str(tmp_path / "include"))
    assert compiler.onednn_folder() != str(tmp_path / "include")
