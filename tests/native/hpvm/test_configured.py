"""Binaries of HPVM-C by configurations: other knobs than fp32, and what cannot be had."""

from __future__ import annotations

import os
import shutil
import threading

import numpy as np
import pytest

from assay.core.errors import NotPossibleError
from assay.native import reference
from assay.native.hpvm.builder import MAX_MODELS, _remove_old
from assay.native.hpvm.configs import parse
from assay.native.hpvm.lowering import dataflow
from assay.native.hpvm.program import execute
from assay.native.knobs.apply import apply_knobs
from assay.native.knobs.from_config import config_knobs
from assay.native.passes.pipeline import optimize
from tests.native.hpvm.making import IMAGES, fresh_pipes, ran, residual_net
from tests.native.hpvm.test_config_sets import LINES, text

pytestmark = pytest.mark.real("compiler")
# As HPVM's tuner writes it, and with knobs of ours.
UPSTREAM = [
    "conv perf_fp16 153 add fp16 1 tanh fp16 1",
    *(line.replace("fp32", "fp16") for line in LINES[1:8]),
    "mul fp16 12 add fp16 1",
    "softmax fp32 1",
]
OURS = ["conv int8 13 add fp32 1 tanh fp32 1", *LINES[1:8], "mul int8 13 add fp32 1", LINES[9]]


def two(lines=UPSTREAM):
    """The exact configuration, and one of these lines."""
    return text() + text(lines).replace("0\n", "", 1).replace("conf1 1 1 100 0", "conf2 2 1 99 1")


def wanted(lines, images, items):
    """The oracle's outputs."""
    configs = parse(text(lines))
    graph = optimize(residual_net())
    knobs = config_knobs(configs, configs.configurations[0], dataflow(residual_net()), graph)
    return reference.outputs(apply_knobs(graph, knobs, (items,)), images, dtype=np.float64)[0]


@pytest.mark.parametrize(("lines", "exact"), [(UPSTREAM, 2e-5), (OURS, 0.01)])
def test_a_configuration_is_computed_as_the_oracle_does(made, tmp_path, lines, exact):
    """By the binary alone, which asks the assay that built it; ranges are of the tune images."""
    (tmp_path / "confs.txt").write_text(two(lines))
    out = tmp_path / "outputs.bin"

    words = ("-c", "confs.txt")  # the only one in it that is not exact
    ended = ran(made / "HPVM_binary", tmp_path, *words, ASSAY_OUTPUTS=str(out))

    assert (ended.returncode, ended.stderr) == (
        0,
        "conf2 of confs.txt, for the gpu: it runs on the CPU\n",
    )
    found = np.fromfile(out, np.float32).reshape(-1, 10)
    oracle = wanted(lines, IMAGES[:8], IMAGES[::-1])
    np.testing.assert_allclose(found, oracle, atol=exact, rtol=0)
    plain = wanted(LINES, IMAGES[:8], IMAGES)
    assert np.abs(found - plain).max() > 1e-4  # something was left out


def test_the_tuner_binary_reads_its_configuration_anew(made, tmp_path):
    """It is built where it is not yet; what was built before is found again."""
    rounds, received = (LINES, UPSTREAM, LINES), []
    pipes = fresh_pipes(made)

    def drive():
        for lines in rounds:
            (tmp_path / "confs.txt").write_text(text(lines))
            pipes[0].write_text("test")
            received.append(pipes[1].read_bytes())
        pipes[0].write_text("stop")

    tuner = threading.Thread(target=drive)
    tuner.start()
    ended = ran(made / "HPVM_tuner_binary", tmp_path, "-c", "confs.txt")
    tuner.join(timeout=60)

    assert (ended.returncode, tuner.is_alive()) == (0, False), ended.stderr
    assert received[0] == received[2] != received[1]
    found = np.frombuffer(received[1][40:200], np.float32).reshape(4, 10)
    np.testing.assert_allclose(found, wanted(UPSTREAM, IMAGES[:4], IMAGES[::-1]), atol=2e-5, rtol=0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        # The first two are of an exact configuration: the binary itself knows its lines.
        (("2 gpu group_conv", "2 gpu conv"), "line 5: line 2 of this program is 'group_conv', not"),
        (("10 gpu softmax fp32 1\n", ""), "line 2: conf1 has 9 lines, but this program has 10"),
        (("mul fp32 1", "mul perf 121"), "line 12: perf 121 does not fit mul: it is no conv"),
        (("group_conv fp32 1", "group_conv perf 121"), "line 5: perf 121 does not fit group_"),
        (("tanh fp32", "tanh samp"), "line 4: samp has the numbers 231 to 239, not 1"),
        (("tanh fp32 1", "tanh quick 1"), "line 4: 'quick' is no knob; fp32, fp16, perf"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(made, tmp_path, change, said):
    (tmp_path / "confs.txt").write_text(text().replace(*change))

    ended = ran(made / "HPVM_binary", tmp_path, "-c", "confs.txt")

    assert ended.returncode in (2, 3)
    assert f"error: confs.txt, {said}" in ended.stderr
    assert not (tmp_path / "final_accuracy").exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("confs.txt:conf9", "confs.txt has no configuration named 'conf9'; it has conf1, conf2"),
        ("confs.txt", "confs.txt has 2 configurations that are not exact, conf2, conf3, and none"),
    ],
)
def test_a_configuration_that_is_not_in_the_file_or_one_of_several_is_refused(
    made, tmp_path, asked, said
):
    more = two(OURS).partition("-----\n")[2].replace("conf2", "conf3")
    (tmp_path / "confs.txt").write_text(two() + more)

    ended = ran(made / "HPVM_binary", tmp_path, "-c", asked)

    assert ended.returncode == 2
    assert said in ended.stderr


def test_a_binary_without_its_assay_says_what_it_lacks(made, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(made, moved, ignore=shutil.ignore_patterns("hpvm_fifo*", "*-*"))
    (moved / "hpvm_models" / "build").write_text("/nowhere/python\n-m\nassay")
    (tmp_path / "confs.txt").write_text(text(UPSTREAM))

    ended = ran(moved / "HPVM_binary", tmp_path, "-c", "confs.txt")

    assert ended.returncode == 2
    assert "was not built for conf1 of confs.txt, and assay, which built it, is not" in ended.stderr


def test_a_program_that_is_run_by_assay_keeps_its_models_elsewhere(made, settings, tmp_path):
    (tmp_path / "confs.txt").write_text(text(["conv samp 231 add fp32 1 tanh fp32 1", *LINES[1:]]))
    before = sorted((made / "hpvm_models").iterdir())

    found = execute(
        made / "HPVM_binary", ("-c", "confs.txt"), tmp_path, settings=settings, threads=1
    )

    assert found.status == 0, found.error
    assert sorted((made / "hpvm_models").iterdir()) == before


def test_only_the_last_models_of_configurations_are_kept(tmp_path):
    for number in range(MAX_MODELS + 3):
        (tmp_path / f"{number}-a").mkdir()
        os.utime(tmp_path / f"{number}-a", (number, number))
    (tmp_path / "exact").mkdir()

    _remove_old(tmp_path)

    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"exact", *(f"{number}-a" for number in range(3, MAX_MODELS + 3))}


def test_a_knob_that_the_network_cannot_have_has_a_status_of_its_own():
    configs = parse(text(["conv fp32 1 add perf 121 tanh fp32 1", *LINES[1:]]), "confs.txt")
    graph = optimize(residual_net())

    with pytest.raises(NotPossibleError, match=r"line 4: perf 121 does not fit add"):
        config_knobs(configs, configs.configurations[0], dataflow(residual_net()), graph)
