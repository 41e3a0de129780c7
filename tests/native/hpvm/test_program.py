"""HPVM-C as programs: they compute what the oracle computes, and say what they lack."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.native.hpvm import program
from assay.native.hpvm.builder import ModelSettings
from assay.native.hpvm.frontend import ImageSet, write_images
from assay.native.hpvm.lowering import dataflow
from assay.native.hpvm.program import compile_program, execute
from tests.native.hpvm.making import IMAGES, fresh_pipes, launched, network_of, ran, residual_net

pytestmark = pytest.mark.real("compiler")
HAND = Path(__file__).parent / "residual.cc"


@pytest.mark.parametrize(("words", "turned"), [((), 1), (("-t", "tune"), -1), (("-d", "tune"), -1)])
def test_a_binary_computes_what_the_oracle_computes(made, oracle, tmp_path, words, turned):
    out = tmp_path / "outputs.bin"

    ended = ran(made / "HPVM_binary", tmp_path, *words, ASSAY_OUTPUTS=str(out))

    assert (ended.returncode, ended.stderr) == (0, "")
    found = np.fromfile(out, np.float32).reshape(-1, 10)
    np.testing.assert_allclose(found, oracle[::turned][:8], atol=2e-5, rtol=0)
    wanted = {1: "75.000000", -1: "100.000000"}[turned]  # the tail of two is left out, as by HPVM
    assert (tmp_path / "final_accuracy").read_text() == wanted
    profile = (tmp_path / "profile_info.txt").read_text()
    assert "Total Time  : " in profile and profile.count("Iteration Compute Time   : ") == 2


def test_a_binary_needs_nothing_but_its_folder_and_the_data(made, oracle, tmp_path):
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for part in (made / "HPVM_binary", made / "hpvm_models"):
        subprocess.run(["cp", "-r", str(part), str(moved)], check=True)

    ended = ran(moved / "HPVM_binary", tmp_path, PATH="")

    assert ended.returncode == 0, ended.stderr


def test_a_launched_graph_becomes_the_network_of_our_own_binary(made, tmp_path):
    """So it is as fast: layer for layer the same call of the same runtime."""
    found = network_of(launched(made / "HPVM_binary", tmp_path))

    assert found.replace("net.image", "net.input") == network_of(residual_net())


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("-h",), 0, "[-t test|tune]"),
        (("-t", "train"), 2, "[-t test|tune]"),
        (("-c", "no.txt"), 2, "error: There is no readable file no.txt"),
        (("-c", "none.txt"), 2, "none.txt holds no configuration"),
        (("-c", "exact.txt"), 0, "conf1 of exact.txt, for the gpu: it runs on the CPU"),
    ],
)
def test_the_flags_of_a_binary(made, tmp_path, words, status, said):
    exact = (made / "tuner_confs.txt").read_text()
    for name, text in (("exact", exact), ("none", "0\n")):
        (tmp_path / f"{name}.txt").write_text(text)

    ended = ran(made / "HPVM_binary", tmp_path, *words)

    assert ended.returncode == status
    assert said in ended.stdout + ended.stderr


def test_other_weights_are_refused_until_it_is_built_again(made, settings, tmp_path):
    data = made.parent / "the data"
    weights = next(data.glob("*_w.bin"))
    whole = weights.read_bytes()
    weights.write_bytes(whole[4:] + whole[:4])
    try:
        ended = ran(made / "HPVM_binary", tmp_path)
        again = execute(made / "HPVM_binary", (), tmp_path, settings=settings)
    finally:
        weights.write_bytes(whole)

    assert ended.returncode == 2
    assert "its graph or its weights have changed" in ended.stderr
    assert again.status == 0, again.error


def test_an_outside_tuner_drives_the_tuner_binary(made, oracle, tmp_path):
    rounds, received = ("test", "tune", "stop"), {}
    read, write = fresh_pipes(made)

    def drive():
        for word in rounds:
            read.write_text(word)
            if word != "stop":
                received[word] = write.read_bytes()

    tuner = threading.Thread(target=drive)
    tuner.start()
    ended = ran(made / "HPVM_tuner_binary", tmp_path)
    tuner.join(timeout=60)

    assert (ended.returncode, tuner.is_alive()) == (0, False), ended.stderr
    for word, turned in (("test", 1), ("tune", -1)):
        batches = [received[word][at : at + 200] for at in (0, 200)]
        assert len(received[word]) == 400
        for number, batch in enumerate(batches):
            assert np.frombuffer(batch[:40], np.uint64).tolist() == [4, 4, 10, 1, 1]
            found = np.frombuffer(batch[40:], np.float32).reshape(4, 10)
            wanted = oracle[::turned][4 * number : 4 * number + 4]
            np.testing.assert_allclose(found, wanted, atol=2e-5, rtol=0)
    assert (tmp_path / "final_accuracy").read_text() == "100.000000"


@pytest.fixture(scope="module")
def hand_data(labels, tmp_path_factory):
    """A folder as HPVM's model_params, for the program written by hand."""
    folder = tmp_path_factory.mktemp("by hand") / "model_params"
    (folder / "residual").mkdir(parents=True)
    for number, array in enumerate(dataflow(residual_net()).tensors.values()):
        array.tofile(folder / "residual" / f"w{number}.bin")
    write_images("test", ImageSet(labels=labels, parts=(IMAGES,)), folder / "residual")
    return folder


# a runtime with sanitizers takes two minutes to compile
@pytest.mark.parametrize("sanitize", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_program_written_by_hand_gives_the_oracles_numbers(
    settings, hand_data, oracle, tmp_path, monkeypatch, sanitize
):
    chosen = ModelSettings(kernels="portable", cache=settings.cache, sanitize=sanitize)
    monkeypatch.setenv("ASSAY_CHOOSE", "0")
    monkeypatch.setenv("ASSAY_OUTPUTS", str(tmp_path / "outputs.bin"))

    built = compile_program(HAND, tmp_path / "hand", chosen)
    found = execute(built, (), tmp_path, hand_data, chosen, threads=1)

    assert (found.status, found.accuracy) == (0, 75.0), found.error
    assert len(found.batches) == 2 and min(found.batches) > 0  # it does not profile itself
    outputs = np.fromfile(tmp_path / "outputs.bin", np.float32).reshape(-1, 10)
    np.testing.assert_allclose(outputs, oracle[:8], atol=2e-5, rtol=0)
    if not sanitize:  # by a path from where it is run; its own status is handed on
        assert execute(built, ("-x",), hand_data.parent, settings=chosen).status == 7


def test_data_that_are_not_there_are_named(settings, tmp_path):
    built = compile_program(HAND, tmp_path / "hand", settings)

    found = execute(built, (), tmp_path, tmp_path, settings)

    assert found.status == 2
    assert "There is no readable file model_params/residual/w0.bin, also not in" in found.error


@pytest.mark.parametrize(
    "compiler",
    ["g++", pytest.param("clang++", marks=[pytest.mark.real("clang"), pytest.mark.long])],
)
def test_sources_compile_without_a_warning(made, compiler, tmp_path):
    flags = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
    many = ", ".join(f"void *t{n}, size_t b{n}" for n in range(300))  # more than clang folds over
    (tmp_path / "many.cc").write_text(
        "#include <hpvm.h>\n"
        f"void root({many}) {{}}\n"
        "int main() { __hpvm__launch(0, root, nullptr); }\n"
    )
    for source in (*made.glob("*.cc"), HAND, tmp_path / "many.cc"):
        ended = subprocess.run(
            [compiler, *flags, f"-I{program.SHIM}", str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, ""), source


def test_a_program_that_is_none_is_refused(settings, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="There is no program"):
        compile_program(tmp_path / "no.cc", tmp_path / "no", settings)
    (tmp_path / "bad.cc").write_text("#include <hpvm.h>\nint main() { return root; }\n")
    with pytest.raises(AssayError, match=r"could not compile.*root"):
        compile_program(tmp_path / "bad.cc", tmp_path / "bad", settings)
    assert not (tmp_path / "bad").exists()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(NotPossibleError, match="No C\\+\\+ compiler"):
        compile_program(HAND, tmp_path / "hand", settings)


def test_a_place_that_cannot_be_written_is_named(settings, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AssayError, match="cannot be written"):
        compile_program(HAND, tmp_path / "file" / "hand", settings)


def test_two_builds_at_once_and_one_that_is_interrupted(made, settings, tmp_path, monkeypatch):
    target = tmp_path / "HPVM_binary"
    code = (
        "import sys, msgspec\n"
        "from assay.native.hpvm.builder import ModelSettings as Settings\n"
        "from assay.native.hpvm.program import compile_program\n"
        "compile_program(*sys.argv[1:3], msgspec.json.decode(sys.argv[3], type=Settings))\n"
    )
    words = [str(HAND), str(target), msgspec.json.encode(settings).decode()]
    both = [subprocess.Popen([sys.executable, "-c", code, *words]) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["HPVM_binary"]

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    whole = target.read_bytes()
    monkeypatch.setattr(program.Toolchain, "link", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compile_program(HAND, target, settings)
    assert [path.name for path in tmp_path.iterdir()] == ["HPVM_binary"]
    assert target.read_bytes() == whole
