"""GPUs and libraries, through whatever tells of them."""

import json
import stat

import pytest

from assay.measure.machine import gpus
from assay.monitors.sources import nvml


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Stub programs alone on the PATH, and no NVML."""
    monkeypatch.setattr(nvml, "load", lambda: None)
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def program(name, text, status=0):
        file = folder / name
        file.write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{text}\nEND\nexit {status}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    return program


def test_unequal_gpus_are_each_told(program):
    program("nvidia-smi", "NVIDIA A100, 40960, 550.54\nQuadro P400, 2048, 550.54")

    assert gpus.gpus() == {
        "gpus": 2,
        "driver": "550.54",
        "gpu0": "NVIDIA A100",
        "gpu0_memory": 40 << 30,
        "gpu1": "Quadro P400",
        "gpu1_memory": 2 << 30,
    }


@pytest.mark.parametrize(
    "text, status",
    [
        ("", 0),
        ("No devices were found", 0),
        ("NVIDIA-SMI has failed because it could not communicate with the driver", 9),
        ("NVIDIA A100, 40960, 550.54", 9),
    ],
)
def test_an_nvidia_smi_without_gpus_gives_nothing(program, text, status):
    program("nvidia-smi", text, status)

    assert gpus.gpus() == {}


def test_memory_that_is_not_told_is_left_out(program):
    program("nvidia-smi", "NVIDIA GB10, [N/A], 580.1")

    assert gpus.gpus() == {"gpus": 1, "driver": "580.1", "gpu0": "NVIDIA GB10"}


def test_amd_gpus_are_told_by_rocm_smi(program):
    told = {
        "card0": {"Card series": "MI210", "VRAM Total Memory (B)": "68702699520"},
        "system": {"Driver version": "6.3.6"},
    }
    program("rocm-smi", "WARNING: low power state\n" + json.dumps(told))

    assert gpus.gpus() == {
        "gpus": 1,
        "gpu0": "MI210",
        "gpu0_memory": 68702699520,
        "driver": "6.3.6",
    }


@pytest.mark.parametrize("text", ["not json", "{cut", '{"card0": 5}', "[]"])
def test_a_strange_rocm_smi_gives_nothing(program, text):
    program("rocm-smi", text)

    assert gpus.gpus() == {}


def test_library_versions_come_from_packages_first(tmp_path):
    (tmp_path / "nvidia_cudnn_cu12-9.1.0.70.dist-info").mkdir()
    (tmp_path / "usr/local/cuda").mkdir(parents=True)
    (tmp_path / "usr/local/cuda/version.json").write_text('{"cuda": {"version": "12.4.1"}}')

    found = gpus.libraries([str(tmp_path)], tmp_path / "usr")

    assert found == {"cudnn": "9.1.0.70", "cuda": "12.4.1"}


def test_a_library_file_tells_its_version(tmp_path):
    folder = tmp_path / "lib/x86_64-linux-gnu"
    folder.mkdir(parents=True)
    (folder / "libcudnn.so.9.1.0").touch()
    (folder / "libcudnn.so.9").touch()

    assert gpus.libraries([], tmp_path) == {"cudnn": "9.1.0"}
