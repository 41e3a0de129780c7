from __future__ import annotations

import pytest

from assay.core.protobuf import DamagedError
from assay.formats.traces import xplane


def number(place, value):
    return bytes([place << 3]) + varint(value)


def data(place, value):
    value = value.encode() if isinstance(value, str) else value
    return bytes([place << 3 | 2]) + varint(len(value)) + value


def varint(value):
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def named(place, key, name, display=""):
    """An item of a plane's map of names."""
    value = number(1, key) + data(2, name) + (data(4, display) if display else b"")
    return data(place, number(1, key) + data(2, value))


def plane(name, *lines, events=(), stats=()):
    names = b"".join(named(4, *item) for item in events)
    return data(1, data(2, name) + b"".join(lines) + names + b"".join(named(5, *s) for s in stats))


def line(name, *events):
    return data(3, data(2, name) + number(3, 2_000) + b"".join(data(4, e) for e in events))


def event(key, offset, length, *stats):
    found = number(1, key) + number(2, offset) + number(3, length)
    return found + b"".join(data(4, stat) for stat in stats)


def test_times_are_seconds_and_operations_of_tensorflow_are_known_by_their_type():
    space = plane(
        "/host:CPU",
        line("worker", event(1, 3_000_000, 5_000_000), event(2, 0, 9_000_000), event(3, 0, 1)),
        events=[(1, "dense/MatMul:MatMul", "MatMul"), (2, "Execute"), (3, "f:__f", "__f")],
    )

    found = list(xplane.events(space))

    assert [(one.name, one.place) for one in found] == [
        ("dense/MatMul:MatMul", "host"),
        ("Execute", ""),
        ("f:__f", ""),  # a function's call waits for others
    ]
    assert (found[0].process, found[0].thread) == ("/host:CPU", "worker")
    assert (found[0].start, found[0].seconds) == pytest.approx((5e-6, 5e-6), rel=1e-9)


def test_operations_of_xla_are_known_by_a_stat_and_named_after_the_model():
    instruction = data(1, "fusion.1") + data(7, data(2, "jit(step)/dot_general"))
    program = data(1, data(3, data(2, instruction)))
    metadata = number(1, 9) + data(2, "jit_step(7)") + data(5, data(6, program))
    stats = [(1, "hlo_op"), (2, "hlo_module"), (3, "program_id"), (4, "fusion.1")]
    told = (
        number(1, 1) + number(7, 4),
        number(1, 2) + data(5, "jit_step"),
        number(1, 3) + number(3, 7),
    )
    space = plane(
        "/host:CPU",
        line("client", event(1, 0, 1, *told)),
        events=[(1, "fusion.1")],
        stats=stats,
    ) + data(1, data(2, "/host:metadata") + data(4, number(1, 9) + data(2, metadata)))

    (found,) = xplane.events(space)

    assert (found.name, found.place, found.source) == (
        "fusion.1",
        "host",
        "jit(step)/dot_general",
    )


@pytest.mark.parametrize(
    ("titles", "places"),
    [
        (("Stream #7(Compute)", "Steps"), ["device", ""]),
        (("Stream #7(Compute)", "XLA Ops"), ["", "device"]),
    ],
)
def test_each_operation_of_a_device_is_counted_in_one_line_only(titles, places):
    lines = [line(title, event(1, 0, 1)) for title in titles]

    found = xplane.events(plane("/device:GPU:0", *lines, events=[(1, "gemm")]))

    assert [one.place for one in found] == places


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_file_that_was_cut_short_is_damaged(cut):
    space = plane("/host:CPU", line("worker", event(1, 0, 1)), events=[(1, "MatMul", "MatMul")])

    with pytest.raises(DamagedError):
        list(xplane.events(space[:-cut]))
