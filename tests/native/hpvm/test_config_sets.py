"""Configurations beside each other, and beside the network they are for."""

from __future__ import annotations

import msgspec
import pytest

from assay.core.errors import UsageError
from assay.native.hpvm.config_sets import (
    baseline,
    check_fit,
    describe_line,
    pareto,
    remarks,
    select_config,
    summary,
)
from assay.native.hpvm.configs import ConfigFile, Configuration, format_configs, parse
from assay.native.hpvm.lowering import dataflow
from tests.native.hpvm.making import residual_net

LINES = [
    "conv fp32 1 add fp32 1 tanh fp32 1",
    "group_conv fp32 1",
    "add fp32 1",
    "batchnorm fp32 1",
    "add fp32 1",
    "relu fp32 1",
    "pool_max fp32 1",
    "pool_mean fp32 1",
    "mul fp32 1 add fp32 1",
    "softmax fp32 1",
]
KNOBS = ["conv perf 121 add fp32 1 tanh fp32 1", "conv samp 231 add fp32 1 tanh fp32 1"]


@pytest.fixture(scope="module")
def flow():
    return dataflow(residual_net())


def text(lines=LINES, device="gpu"):
    numbered = (f"{n} {device} {line}" for n, line in enumerate(lines, 1))
    return "0\n+++++\nconf1 1 1 100 0\n" + "\n".join(numbered) + "\n-----\n"


def test_the_baseline_has_a_line_for_each_fused_layer(flow):
    assert format_configs(ConfigFile(configurations=(baseline(flow),))) == text()


def test_a_file_of_the_network_fits_and_may_count_from_0(flow):
    zero = "\n".join(
        f"{int(n) - 1} {rest}" if n.isdecimal() and rest else line
        for line in text().splitlines()
        for n, _, rest in [line.partition(" ")]
    )

    for each in (text(), zero):
        check_fit(parse(each), flow)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([*LINES[:1], "conv fp32 1", *LINES[2:]], "line 5: line 2 of made is 'group_conv', not"),
        (LINES[:-1], "line 12: conf1 has 9 lines, but made has 10"),
        ([*LINES, "relu fp32 1"], "line 14: conf1 has 11 lines"),
        (["conv fp32 1 add fp32 1", *LINES[1:]], "'conv add tanh', not 'conv add'"),
    ],
)
def test_another_networks_file_is_refused_with_the_line(flow, lines, complaint):
    with pytest.raises(UsageError, match=complaint):
        check_fit(parse(text(lines), "confs.txt"), flow)


def test_the_analog_accelerator_takes_a_line_that_multiplies(flow):
    check_fit(
        parse(text(["1 promise swing_level 5"[2:], *LINES[1:]]).replace("gpu promise", "promise")),
        flow,
    )
    with pytest.raises(UsageError, match="line 3 of made"):
        swings = [*LINES[:2], "promise swing_level 5", *LINES[3:]]
        check_fit(parse(text(swings).replace("gpu promise", "promise")), flow)


def test_a_file_means_its_only_inexact_configuration_or_the_one_named():
    exact, *others = (
        text(lines).replace("0\n", "", 1).replace("conf1", f"conf{number}")
        for number, lines in enumerate([LINES, *([knob, *LINES[1:]] for knob in KNOBS)], 1)
    )

    assert select_config(parse(exact)).name == "conf1"
    assert select_config(parse(exact + exact)).name == "conf1"  # it is the same, whichever
    assert select_config(parse(others[1])).name == "conf3"
    assert select_config(parse(exact + others[1])).name == "conf3"
    several = parse(exact + "".join(others), "confs.txt")
    assert select_config(several, "conf2").name == "conf2"
    assert select_config(several, "conf1").exact
    with pytest.raises(UsageError, match=r"confs.txt has 2 configurations .* conf2, conf3"):
        select_config(several)
    with pytest.raises(UsageError, match="no configuration named 'conf9'"):
        select_config(several, "conf9")


def made(*numbers):
    each = [
        Configuration(name=f"conf{n}", speedup=speed, loss=loss, accuracy=90 - loss)
        for n, (speed, loss) in enumerate(numbers, 1)
    ]
    return ConfigFile(configurations=tuple(each))


def test_the_front_rises_with_the_loss_and_keeps_the_baseline():
    found = pareto(made((1, 0), (2, 1), (1.5, 0.5), (1.4, 0.7), (3, 3), (2.5, 3.5), (0.9, 0.1)))

    assert [each.name for each in found.configurations] == ["conf1", "conf3", "conf2", "conf5"]


def test_of_those_that_lose_the_same_the_best_is_kept():
    found = pareto(made((1, 0), (2, 1), (2.2, 1.005), (2.1, 1)))

    assert [each.name for each in found.configurations] == ["conf1", "conf3"]


def test_the_front_by_energy_is_another():
    configs = made((1, 0), (2, 1))
    thrifty = msgspec.structs.replace(
        configs.configurations[1], name="thrifty", energy=3, speedup=1
    )
    configs = msgspec.structs.replace(configs, configurations=(*configs.configurations, thrifty))

    assert [c.name for c in pareto(configs, "energy").configurations] == ["conf1", "thrifty"]
    assert [c.name for c in pareto(configs).configurations] == ["conf1", "conf2"]


def test_what_is_worth_knowing_is_said():
    exact, other = text(device="cpu"), text().replace("fp32 1", "fp16 12").replace("100 0", "98 1")
    both = exact + other.partition("\n")[2]

    assert remarks(parse(exact)) == ()
    found = remarks(parse(both))
    assert "conf1: duplicate name" in found
    assert any("do not add up to conf1's 100" in each for each in found)
    assert any("run on the CPU here" in each for each in found)
    assert any("half precision is emulated here" in each for each in found)
    assert any("comes first, but is not exact" in each for each in remarks(parse(other)))


def test_a_configuration_is_told_in_words():
    (one,) = parse(text().replace("conv fp32 1 add", "conv perf 124 add")).configurations

    assert summary(one) == "fp32 12, perf 1"
    assert describe_line(one.lines[0]) == (
        "conv: 1 of 2 rows, from 1 on, skipped, then interpolated; "
        "add: full precision; tanh: full precision"
    )
