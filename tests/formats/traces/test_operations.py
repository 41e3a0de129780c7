from __future__ import annotations

import pytest

from assay.formats.traces.chrome import Event
from assay.formats.traces.operations import operations


def event(name, start, seconds, place="host", thread="1", source=""):
    return Event(name, "process", thread, start, seconds, place, source)


def times(events):
    return {one.name: one.seconds for one in operations(events)}


def test_an_operation_is_not_charged_for_those_inside_it():
    found = times([event("linear", 0, 10), event("mm", 1, 6), event("copy", 2, 1)])

    assert found == {"mm": 5, "linear": 4, "copy": 1}


def test_operations_that_follow_one_another_are_not_inside_one_another():
    found = times([event("a", 0, 2), event("b", 2, 3), event("c", 5, 1)])

    assert found == {"b": 3, "a": 2, "c": 1}


def test_threads_do_not_nest():
    found = times([event("a", 0, 10, thread="1"), event("b", 1, 5, thread="2")])

    assert found == {"a": 10, "b": 5}


def test_equal_names_are_counted_together_and_shares_add_up_to_one():
    found = operations([event("mm", 0, 3), event("add", 3, 1), event("mm", 4, 4)])

    assert [(one.name, one.count, one.seconds) for one in found] == [("mm", 2, 7), ("add", 1, 1)]
    assert [one.share for one in found] == [7 / 8, 1 / 8]


def test_one_name_from_two_places_of_the_model_is_two_operations():
    found = operations([event("fusion", 0, 1, source="a"), event("fusion", 1, 2, source="b")])

    assert [one.source for one in found] == ["b", "a"]


def test_where_a_device_works_its_operations_are_meant():
    found = operations([event("aten::mm", 0, 9), event("gemm", 3, 2, "device")])

    assert [(one.name, one.place, one.share) for one in found] == [("gemm", "device", 1.0)]


@pytest.mark.parametrize("events", [[], [event("python", 0, 1, "")]])
def test_what_is_no_operation_is_not_listed(events):
    assert operations(events) == []
