"""Several cases warm together, in real workers."""

import math
import time

import pytest

from assay.core.executor import CaseDir
from assay.core.records import Procedure
from assay.measure import plan
from assay.measure.case import OUT_OF_TIME, HeatEntry
from assay.measure.heat import AMPLE_MEMORY, OUT_OF_MEMORY_REASON, run_heat

QUICK = Procedure(budget=0.2, timeout=20)


@pytest.fixture
def heat(tmp_path, endings):
    def run(*names, turns=2, memory=0.0, deadlines=(), **more):
        entries = []
        for number, name in enumerate(names):
            folder = tmp_path / f"{number}"
            folder.mkdir()
            case = plan.expand_cases([f"{endings}:{name}@python"])[0]
            entry = HeatEntry(str(number), case, CaseDir(f"run/{number}", folder))
            deadline = deadlines[number] if deadlines else math.inf
            entries.append(entry._replace(memory=memory, deadline=deadline))
        return run_heat(
            entries,
            more.pop("procedure", QUICK),
            lambda _: None,
            lambda so_far: len(next(iter(so_far.turns.values()))) < turns,
            **more,
        )

    return run


def steady(result):
    return [part for part in result.samples if part.phase == "steady"]


def test_everyone_has_as_many_turns_and_all_phases(heat):
    found = heat("fine", "fine", turns=3).results

    assert [result.status for result in found.values()] == ["ok", "ok"]
    assert [len(steady(result)) for result in found.values()] == [3, 3]
    assert {part.phase for part in found["0"].samples} == {"open", "first", "warmup", "steady"}


def test_who_fails_is_out_and_the_others_go_on(heat):
    found = heat("fine", "exits", "fine").results

    assert [result.status for result in found.values()] == ["ok", "crashed", "ok"]
    assert [len(steady(result)) for result in found.values()] == [2, 0, 2]


def test_who_fails_in_its_turn_keeps_its_reason(heat):
    found = heat("fine", "raises_later", procedure=Procedure(budget=0.0001, timeout=20)).results

    assert found["1"].status == "failed"
    assert "no good any more" in found["1"].reason


def test_alone_nobody_takes_turns(heat):
    found = heat("fine", "hangs", procedure=Procedure(budget=0.2, timeout=1)).results

    assert found["1"].status == "timeout"
    assert steady(found["0"]) == []


def test_who_finds_no_room_is_apart_and_never_started(heat, tmp_path):
    memory = iter([100, 40, 40])  # the first takes 60, and leaves less than that
    found = heat("fine", "fine", room=lambda: next(memory))

    assert found.excluded == {"1": OUT_OF_MEMORY_REASON}
    assert not (tmp_path / "1" / "worker.log").exists()


def test_where_memory_is_plenty_nobody_is_opened_alone(heat):
    looks = []
    found = heat("fine", "fine", room=lambda: looks.append(1) or 2 * AMPLE_MEMORY)

    assert [result.status for result in found.results.values()] == ["ok", "ok"]
    assert len(looks) == 1


def test_who_showed_what_it_takes_needs_no_plenty(heat):
    looks = []
    found = heat("fine", "fine", room=lambda: looks.append(1) or 3000, memory=1000.0)

    assert [result.status for result in found.results.values()] == ["ok", "ok"]
    assert len(looks) == 1


def test_even_the_first_may_have_wanted_for_room_where_all_came_at_once(heat):
    assert heat("has_no_memory", "fine", room=lambda: 2 * AMPLE_MEMORY).excluded == {
        "0": OUT_OF_MEMORY_REASON
    }


def test_who_is_out_of_memory_beside_others_is_apart(heat):
    assert heat("fine", "has_no_memory").excluded == {"1": OUT_OF_MEMORY_REASON}


def test_who_is_not_warm_by_its_deadline_is_ended_and_the_others_take_turns(heat):
    now = time.monotonic()
    found = heat("fine", "fine", "hangs", "fine", deadlines=[math.inf, math.inf, now + 4, now])

    statuses = {name: result.status for name, result in found.results.items()}
    assert statuses == {"0": "ok", "1": "ok", "2": "skipped", "3": "skipped"}
    assert found.results["2"].reason == found.results["3"].reason == OUT_OF_TIME
    assert [len(steady(found.results[name])) for name in "01"] == [2, 2]


def test_of_who_has_nobody_left_to_take_turns_with_in_time_nothing_is_known(heat):
    found = heat("fine", "fine", deadlines=[math.inf, 0.0]).results

    assert [result.reason for result in found.values()] == [OUT_OF_TIME, OUT_OF_TIME]


def test_an_interrupt_is_an_ending_of_everyone(heat):
    def room():
        raise KeyboardInterrupt

    found = heat("fine", "fine", room=room).results

    assert {result.status for result in found.values()} == {"interrupted"}
