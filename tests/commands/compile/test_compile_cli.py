"""assay compile: what it says of the program it made, and what it refuses."""

from __future__ import annotations

import re
import subprocess

import pytest

from assay.measure.compiler import capture
from assay.native import expected
from tests.datasets.making import SAMPLE
from tests.native.test_emit import small


@pytest.fixture(autouse=True)
def compiled(cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))


@pytest.mark.real("compiler")
def test_the_command_tells_the_program_and_how_to_run_it(assay, monkeypatch, tmp_path):
    graph = small("by-name")
    found = capture.CapturedModel(graph, expected.sample_reference(graph))
    monkeypatch.setattr(capture, "capture_by_name", lambda *given: found)

    status, out, err = assay("compile", "mnist-mlp", "--kernels", "portable", "-o", str(tmp_path))

    assert (status, out.strip()) == (0, str(tmp_path / "by-name"))
    assert "it takes images of 2 x 6 x 6 float32: channels, height, width (channels first)" in err
    assert "its weights are untrained" in err
    assert re.search(r"checked: the program differs from the numpy reference by at most \d", err)


@pytest.mark.real("compiler", "keras", "torch")
def test_a_network_lies_beside_the_pictures_it_is_tested_on(assay, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    monkeypatch.chdir(tmp_path)
    weights = SAMPLE / "weights" / "resnet18.npz"

    status, out, err = assay("compile", "resnet18-cifar10", "--weights", str(weights))
    ran = subprocess.run([out.strip(), "-t", "tune"], capture_output=True, text=True, check=True)

    assert status == 0 and err.rstrip().endswith("build/resnet18-cifar10 -t test")
    assert "75 images" in ran.stdout
    assert float((tmp_path / "final_accuracy").read_text()) > 80
    _runs_by_a_configuration(tmp_path / "build" / "resnet18-cifar10")


def _runs_by_a_configuration(program):
    """The exact one is the program's own; another is compiled, kept and found again."""
    lines = program.with_name(f"{program.name}.lines").read_text().splitlines()
    rows = [" ".join(f"{op} fp32 1" for op in line.split("\t")[0].split()) for line in lines]
    for name in ("exact", "half", "wrong"):
        text = "".join(f"{number} gpu {row}\n" for number, row in enumerate(rows, 1))
        changes = {
            "half": ("conv fp32 1", "conv perf_fp16 153"),
            "wrong": ("1 gpu conv", "1 gpu mul"),
        }
        text = text.replace(*changes.get(name, ("", "")), 1)
        (program.parent / name).write_text(f"0\n+++++\nconf1 1 1 90 0\n{text}-----\n")

    def ran(name):
        words = [str(program), "-t", "tune", "-c", str(program.parent / name), "--choose", "0"]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    found = {name: ran(name) for name in ("exact", "half", "wrong")}
    again = ran("half")

    assert "75 images" in found["exact"].stdout and found["exact"].stderr == ""
    assert "75 images" in found["half"].stdout
    assert found["half"].stderr.startswith("building conf1 of ")
    assert (again.returncode, again.stderr) == (0, "")
    assert found["wrong"].returncode == 2
    assert "wrong, line 4: line 1 of resnet18-cifar10 is 'conv add relu'" in found["wrong"].stderr


def test_without_a_compiler_nothing_is_left(assay, monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")

    status, _, err = assay("compile", "alexnet2", "-o", str(tmp_path / "build"))

    assert status == 3
    assert "No C++ compiler found." in err and "apt-get install g++" in err
    assert not (tmp_path / "build").exists()


@pytest.mark.real("compiler")
def test_a_kernel_is_forced_on_a_layer(assay, monkeypatch, tmp_path):
    graph = small("forced")
    found = capture.CapturedModel(graph, expected.sample_reference(graph))
    monkeypatch.setattr(capture, "capture_by_name", lambda *given: found)
    words = ("compile", "mnist-mlp", "--kernels", "portable", "-o", str(tmp_path))

    status, _, err = assay(*words, "--kernel", "conv=winograd-9x9")
    assert (status, list(tmp_path.iterdir())) == (2, [])
    assert "There is no kernel named 'winograd-9x9'" in err

    assert assay(*words, "--kernel", "conv=direct")[0] == 0
    assert '.kernel("direct")' in (tmp_path / "forced.cpp").read_text()


@pytest.mark.real("compiler")
def test_knobs_are_given_by_layer_or_by_a_configuration(assay, monkeypatch, tmp_path):
    graph = small("knobs")
    found = capture.CapturedModel(graph, expected.sample_reference(graph))
    monkeypatch.setattr(capture, "capture_by_name", lambda *given: found)
    words = ("compile", "mnist-mlp", "--kernels", "portable", "-o", str(tmp_path / "build"))

    for given, complaint in (
        (("--knob", "conv=fast"), "takes the number of a knob"),
        (("--knob", "conv=123", "--config", "a.txt"), "were both given"),
        (("--knob", "conv=7"), "there are no items"),
        (("--config", "none.txt"), "cannot be read"),
        (("--knob", "conv=13"), "there are no items"),
    ):
        status, _, err = assay(*words, *given)
        assert status in (2, 3) and complaint in err
    assert not (tmp_path / "build").exists()

    status, _, err = assay(*words, "--knob", "conv=123")
    assert status == 0 and "differs from the numpy reference" in err
    assert ".perforation(2, 1, 0)" in (tmp_path / "build" / "knobs.cpp").read_text()


@pytest.mark.real("compiler", "keras")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("alexnett",), "no workload named 'alexnett'"),
        (("alexnet2@torch",), "names a backend"),
        (("nowhere.keras",), "There is no model file nowhere.keras"),
        (("mnist-mlp", "--weights", "none.npz"), "There is no weights file none.npz"),
        (("mnist-mlp", "--set", "units"), "--set got 'units'"),
        (("mnist-mlp", "--set", "unit=3"), "no parameter of mnist-mlp named 'unit'"),
        (("mnist-mlp", "--kernels", "cudnn"), "kernels is 'cudnn', but has to be one of"),
        (("mnist-mlp", "--kernel", "direct"), "--kernel got 'direct'"),
    ],
)
def test_misuse_is_one_sentence_before_anything_is_built(assay, tmp_path, words, complaint):
    status, out, error = assay("compile", *words, "-o", str(tmp_path / "build"))

    assert (status, out) == (2, "")
    assert complaint in error
    assert not (tmp_path / "build").exists()
