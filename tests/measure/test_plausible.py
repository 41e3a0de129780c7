"""A speed that no machine can have becomes an error."""

from assay.core.records import Case, Environment, Procedure, Result, Samples
from assay.measure.plausible import refuse_impossible

FACTS = {"multiply_adds": 100, "executed_multiply_adds": 20, "product_dtypes": "float32"}


def result(peak, status="ok"):
    """Runs at 4000 FLOP/s, by at least 800 executed ones."""
    return Result(
        id="r/001",
        case=Case(workload="w", backend="b", options={"mode": "infer", "precision": "float32"}),
        procedure=Procedure(),
        status=status,
        items=10,
        facts=FACTS,
        samples=(Samples(metric="step_time", unit="s", phase="steady", values=(0.5, 0.5)),),
        environment=Environment(machine={"cpu_peak_float32": peak} if peak else {}),
    )


def test_beyond_a_peak_that_is_confirmed_it_is_an_error_instead_of_a_number():
    refused = refuse_impossible(result(peak=100.0), lambda: {"cpu_peak_float32": 90.0})

    assert (refused.status, refused.samples) == ("failed", ())
    assert refused.reason.startswith(
        "faster than this machine can: 4.00 kFLOP/s, but its measured peak is 100 FLOP/s"
    )


def test_a_peak_of_a_busier_machine_is_measured_again():
    honest = result(peak=100.0)

    assert refuse_impossible(honest, lambda: {"cpu_peak_float32": 2000.0}) is honest


def test_a_possible_speed_measures_no_peak():
    measured = []
    for honest in (result(peak=3000.0), result(peak=0), result(peak=100.0, status="timeout")):
        assert refuse_impossible(honest, lambda: measured.append(1) or {}) is honest
    assert measured == []
