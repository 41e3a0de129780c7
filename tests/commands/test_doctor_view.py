"""A checkup as tables."""

from assay.commands.doctor import checkup_tables
from assay.measure.machine.doctor import Checkup, Framework, Noise, Peak, Remedy
from assay.reporting.output.text import table_text

FOUND = Checkup(
    when="2026-01-01T00:00:00+00:00",
    machine={"cpu": "Xeon", "memory": 1 << 34, "smt": False},
    frameworks=(Framework(name="torch", problem="it is broken"),),
    noise=Noise(spread=0.1, difference=-0.01, visible=0.02, visible_unpaired=0.05, pairs=9),
    remedies=(Remedy(name="longer", how="--budget 40s", before=0.02, after=0.01),),
    peaks=(Peak(device="gpu0", what="float32", rate=2e12, unit="FLOP/s", published=1e12),),
)


def shown(found):
    return "\n".join(table_text(table) for table in checkup_tables(found))


def test_numbers_are_in_human_units():
    assert "16.0 GiB" in shown(FOUND)
    assert "2.00 TFLOP/s" in shown(FOUND)


def test_the_smallest_visible_change_is_said_in_words():
    assert "a change below 2.00% cannot be detected at present" in shown(FOUND)


def test_a_remedy_stands_with_its_effect():
    line = next(line for line in shown(FOUND).splitlines() if "--budget 40s" in line)

    assert line.split()[-3:] == ["1.00%", "2.00%", "helps"]


def test_an_exceeded_peak_is_said():
    assert "exceeds the published peak" in shown(FOUND)


def test_rates_of_a_busy_machine_are_doubted():
    busy = Checkup(when="", machine={"load_average": 4.0, "cpus_allowed": 2})

    assert "rates are too low" in shown(busy)
    assert "rates are too low" not in shown(FOUND)


def test_an_empty_checkup_can_still_be_shown():
    assert "This machine" in shown(Checkup(when="", machine={"cpu": "Xeon"}))
