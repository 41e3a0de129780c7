"""The share of communication in a trace: collective operations by name, step by step."""

from __future__ import annotations

import pytest

from assay.formats.traces.chrome import Event
from assay.formats.traces.communication import shares


def event(name, start, seconds, place="host", thread="1"):
    return Event(name, "process", thread, start, seconds, place)


STEPS = (event("ProfilerStep#0", 0.0, 1.0, ""), event("ProfilerStep#1", 2.0, 1.0, ""))


def test_the_share_of_each_step_is_the_time_in_which_any_was_under_way():
    found = shares(
        [
            *STEPS,
            event("all-reduce.7", 0.1, 0.2),
            event("all-reduce.7", 0.2, 0.2, thread="2"),  # another device, partly at once
            event("aten::mm", 0.5, 0.5),
            event("all-reduce.7", 2.9, 0.5),  # half of it after the step
        ]
    )

    assert found == pytest.approx([0.3, 0.1])


@pytest.mark.parametrize(
    "name",
    [
        "gloo:all_reduce",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "all-reduce.7",
        "all-reduce-start.1",
        "CollectiveReduceV2_1:CollectiveReduceV2",
        "while/body/NcclAllReduce_3:NcclAllReduce",
    ],
)
def test_collective_operations_are_known_by_the_names_of_their_makers(name):
    assert shares([*STEPS, event(name, 0.0, 0.5)]) == pytest.approx([0.5, 0.0])


def test_where_a_device_is_seen_what_the_host_enqueues_does_not_count():
    found = shares(
        [
            *STEPS,
            event("nccl:all_reduce", 0.0, 0.9, ""),
            event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0.4, 0.2, "device"),
        ]
    )

    assert found == pytest.approx([0.2, 0.0])


@pytest.mark.parametrize("name", ["wrapped_reduce.1", "end: all-reduce.7", "broadcast.3", "AddN"])
def test_a_trace_without_collective_operations_tells_nothing(name):
    assert shares([*STEPS, event(name, 0.0, 0.5)]) == []
