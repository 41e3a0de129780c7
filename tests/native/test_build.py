"""What is built twice is kept, what fails leaves nothing, and a lack is told with its remedy."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from assay.core.errors import AssayError, NotPossibleError
from assay.native import toolchain as compiler
from assay.native.build import atomic_dir, build, digest, runtime_parts
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


def test_two_at_once_compile_the_runtime_once(tmp_path):
    script = tmp_path / "compiler"
    script.write_text(
        f'#!/bin/sh\nsleep 0.2\nfor last; do :; done\necho $last >> "{tmp_path}/log"\n'
    )
    script.chmod(0o755)
    tools = Toolchain(command=(str(script),), version="0", flags=())

    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda _: runtime_parts(tools, tmp_path / "cache"), range(2)))

    compiled = (tmp_path / "log").read_text().splitlines()
    assert [os.path.basename(each) for each in compiled] == ["entry.o", "runtime0.o"]


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


def test_a_build_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(AssayError, match="could not compile"):
        build(emit(small()), FAKE, tmp_path / "cache")

    assert list((tmp_path / "cache").iterdir()) == []


def test_onednn_may_be_an_unpacked_folder(tmp_path, monkeypatch):
    for name in ("include/dnnl.hpp", "lib/libdnnl.so.3"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    monkeypatch.setenv("DNNLROOT", str(tmp_path))
    assert compiler.onednn_folder() == str(tmp_path)

    monkeypatch.setenv("DNNLROOT", str(tmp_path / "include"))
    assert compiler.onednn_folder() != str(tmp_path / "include")
