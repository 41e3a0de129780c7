from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formats.perfzero.entries import ReportedMetric
from assay.formats.perfzero.proto import DamagedError, decode

GOLDEN = Path(__file__).parents[2] / "golden"


def test_a_file_of_tensorflow_is_read_whole():
    (entry,) = decode((GOLDEN / "benchmark-entries-tf-2.21").read_bytes())

    assert (entry.name, entry.iters, entry.wall_time) == ("Golden.benchmark_it", 2000, 1000.0)
    assert (entry.cpu_time, entry.throughput) == (None, None)
    assert entry.extras == {"number": -1.5, "text": "words", "zero": 0.0}
    assert entry.metrics == (
        ReportedMetric(name="metric_1", value=0.2, min_value=0.1, max_value=0.3),
        ReportedMetric(name="metric_2", value=0.0, min_value=0.0),
    )


def test_a_negative_count_is_read_as_such():
    (entry,) = decode((GOLDEN / "benchmark-entries-negative-tf-2.21").read_bytes())

    assert (entry.iters, entry.cpu_time, entry.throughput) == (-1, 2.5, 1e9)


def test_fields_of_the_future_are_passed_over():
    name = bytes([0x0A, 1]) + b"n"
    unknown = bytes([0xF8, 1, 5]) + bytes([0xFA, 1, 2]) + b"xx" + bytes([0xFD, 1]) + bytes(4)
    body = unknown + name

    assert decode(bytes([0x0A, len(body)]) + body)[0].name == "n"


def test_several_entries_of_one_file_are_all_read():
    one = (GOLDEN / "benchmark-entries-tf-2.21").read_bytes()

    assert len(decode(one + one)) == 2


@pytest.mark.parametrize(
    "data", [b"\x0a\x05ab", b"\x0b", b"\xff" * 12, b"\x0a\x02\x08\x01", b"\x0a\x03\x0a\x01\xff"]
)
def test_what_is_no_report_is_said_to_be_damaged(data):
    with pytest.raises(DamagedError):
        decode(data)


@given(st.binary(max_size=200))
def test_no_bytes_at_all_break_the_decoder(data):
    try:
        found = decode(data)
    except DamagedError as error:
        assert str(error)
    else:
        assert all(entry.name == str(entry.name) for entry in found)


@pytest.mark.real("tensorflow")
@settings(deadline=None)  # the first call imports TensorFlow
@given(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.dictionaries(st.text(), st.floats() | st.text(min_size=1), max_size=3),
    st.floats(),
)
def test_what_tensorflow_encodes_is_what_we_read(iters, wall, extras, value):
    from tensorflow.core.util import test_log_pb2

    entries = test_log_pb2.BenchmarkEntries()
    entry = entries.entry.add(name="A.b", iters=iters, wall_time=wall)
    entry.metrics.add(name="m", value=value).min_value.value = value
    for key, extra in extras.items():
        kind = "string_value" if isinstance(extra, str) else "double_value"
        setattr(entry.extras[key], kind, extra)

    (found,) = decode(entries.SerializeToString())

    assert (found.iters or 0) == iters
    assert repr(found.wall_time or 0.0) == repr(wall) or wall == 0
    assert {k: repr(v) for k, v in found.extras.items()} == {k: repr(v) for k, v in extras.items()}
    assert repr(found.metrics[0].min_value) == repr(value) or value == 0
