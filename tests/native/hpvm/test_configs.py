"""Configuration files: every dialect is read, everything else is refused with its line."""

from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.native.hpvm.configs import format_configs, parse, read_configs, write_configs
from assay.native.hpvm.knobs import KINDS

PLAIN = """\
1114.5
+++++
conf1 1 1 84.98 0
1 gpu conv fp32 11 add fp32 1 tanh fp32 1
2 gpu mul fp32 11 add fp32 1
3 cpu softmax fp32 1
-----
+++++
conf2 2.42 2.08 84.5 0.48
1 gpu conv perf_fp16 154 add fp16 1 tanh fp16 1
2 gpu mul fp16 12 add fp16 1
3 gpu softmax fp32 1
-----
"""


def test_all_of_a_file_is_read():
    found = parse(PLAIN)

    first, second = found.configurations
    assert found.baseline == 1.1145
    assert (second.name, second.speedup, second.energy) == ("conf2", 2.42, 2.08)
    assert (second.accuracy, second.loss, second.extra) == (84.5, 0.48, ())
    assert [line.device for line in first.lines] == ["gpu", "gpu", "cpu"]
    assert first.exact and not second.exact
    choice = second.lines[0].choices[0]
    assert (choice.op, choice.kind, choice.knob) == ("conv", "perf_fp16", 154)


def test_what_is_written_is_read_the_same(tmp_path):
    found = parse(PLAIN, str(tmp_path / "confs.txt"))

    write_configs(found, tmp_path / "confs.txt")

    assert read_configs(tmp_path / "confs.txt") == found
    assert format_configs(parse(format_configs(found))) == format_configs(found)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("blank lines", PLAIN.replace("\n", "\n\n")),
        ("carriage returns", PLAIN.replace("\n", "\r\n")),
        ("tabs", PLAIN.replace(" ", "\t")),
        ("no final newline", PLAIN.rstrip("\n")),
        ("a byte order mark", "\ufeff" + PLAIN),
        ("spaces around", PLAIN.replace("\n", "  \n ")),
    ],
)
def test_a_dialect_is_read_as_the_plain_form(dialect, text, tmp_path):
    (tmp_path / "confs.txt").write_bytes(text.encode())

    assert format_configs(read_configs(tmp_path / "confs.txt")) == format_configs(parse(PLAIN)), (
        dialect
    )


def test_more_header_fields_are_kept():
    found = parse(PLAIN.replace("conf2 2.42 2.08 84.5 0.48", "conf2 2.42 2.08 84.5 0.48 0.91 x"))

    assert found.configurations[1].extra == ("0.91", "x")
    assert "conf2 2.42 2.08 84.5 0.48 0.91 x\n" in format_configs(found)


def test_numbers_may_begin_with_0_and_the_baseline_may_be_unknown():
    text = PLAIN.replace("\n1 ", "\n0 ").replace("\n2 ", "\n1 ").replace("\n3 ", "\n2 ")
    text = text.replace("conf1", "conf0").replace("1114.5", "0.0")

    found = parse(text)

    assert found.baseline == 0
    assert [line.number for line in found.configurations[0].lines] == [0, 1, 2]
    assert format_configs(parse(text.partition("\n")[2])) == format_configs(found)


def test_a_line_of_the_analog_accelerator_has_one_knob():
    found = parse(PLAIN.replace("2 gpu mul fp16 12 add fp16 1", "2 promise swing_level 5"))

    (choice,) = found.configurations[1].lines[1].choices
    assert (choice.op, choice.kind, choice.knob) == ("", "swing_level", 5)
    assert "\n2 promise swing_level 5\n" in format_configs(found)


@pytest.mark.parametrize("kind", [kind for kind, ids in KINDS.items() if ids])
def test_every_knob_is_known_by_its_numbers(kind):
    text = PLAIN.replace("conv perf_fp16 154", f"conv {kind} {{}}")

    for knob in (KINDS[kind][0], KINDS[kind][-1]):
        assert parse(text.format(knob)).configurations[1].lines[0].choices[0].knob == knob
    with pytest.raises(UsageError, match=f"line 10: {kind} has the numbers"):
        parse(text.format(KINDS[kind][-1] + 1))


@pytest.mark.parametrize(
    ("changed", "to", "where", "complaint"),
    [
        ("1114.5", "fast", 1, "baseline's time is 'fast', which is no number"),
        ("1114.5", "1114.5 ms", 1, "where a time in ms is expected"),
        ("+++++\nconf2", "++++\nconf2", 8, "'[+]{4}' stands where"),
        ("conf2 2.42 2.08 84.5 0.48", "conf2 2.42", 9, "a name and four numbers"),
        ("conf2 2.42", "conf2 nan", 9, "speedup is 'nan'"),
        ("2 gpu mul fp16", "3 gpu mul fp16", 11, "numbered 3, but 2 is next"),
        ("1 gpu conv perf_fp16", "7 gpu conv perf_fp16", 10, "numbered 7, but 0 or 1 is next"),
        ("1 gpu conv perf_fp16", "1 tpu conv perf_fp16", 10, "'tpu' is no device; gpu, cpu"),
        ("1 gpu conv perf_fp16", "one gpu conv perf_fp16", 10, "begin with a number"),
        ("conv perf_fp16 154", "konv perf_fp16 154", 10, "'konv' is no operation; conv,"),
        ("conv perf_fp16 154", "conv bf17 154", 10, "'bf17' is no knob; fp32,"),
        ("conv perf_fp16 154", "conv perf_fp16 x", 10, "'x' stands where the number"),
        ("tanh fp16 1", "tanh fp16", 10, "tanh needs a knob's name and number"),
        ("3 gpu softmax fp32 1\n", "3 gpu\n", 12, "no operation follows the device"),
        ("3 gpu softmax fp32 1\n-----\n", "3 gpu softmax fp32 1\n", 13, "line 8 has no -----"),
        ("3 cpu softmax fp32 1\n-----\n", "3 cpu softmax fp32 1\n", 7, "[+]{5} stands before"),
        (PLAIN, "", 1, "no configuration"),
        (PLAIN, "0\n+++++\nconf1 1 1 1 0\n-----\n", 2, "a header and at least one line"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_line(changed, to, where, complaint):
    assert changed in PLAIN
    with pytest.raises(UsageError, match=f"^confs.txt, line {where}: .*{complaint}"):
        parse(PLAIN.replace(changed, to), "confs.txt")


def test_a_thousand_configurations_are_read_and_written_in_order():
    one = PLAIN.partition("+++++\n")[2].partition("+++++\n")[2].removeprefix("conf2")
    text = "0\n" + "".join(f"+++++\nconf{n}{one}" for n in range(1, 1001))

    found = parse(text)

    assert [each.name for each in found.configurations] == [f"conf{n}" for n in range(1, 1001)]
    assert format_configs(found) == text


@pytest.mark.parametrize(
    ("data", "complaint"), [(b"\xff\xfe\x00", "is no text"), (None, "be read")]
)
def test_what_is_no_file_of_text_is_refused(tmp_path, data, complaint):
    if data:
        (tmp_path / "confs.txt").write_bytes(data)
    with pytest.raises(UsageError, match=complaint):
        read_configs(tmp_path / "confs.txt")
