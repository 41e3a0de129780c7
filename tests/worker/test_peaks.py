"""Peak rates are printed as lines of JSON, one for each device and kind of work."""

from __future__ import annotations

import json

import pytest

from assay.worker import peaks


def test_numpy_gives_a_product_and_a_copy():
    kernels = list(peaks._numpy_kernels())

    assert {(device, what) for device, what, *_ in kernels} >= {("cpu", "copy")}
    assert all(amount > 0 for _, _, amount, *_ in kernels)


def test_what_a_device_does_not_offer_is_left_out(capsys, monkeypatch):
    def refuse() -> None:
        raise NotImplementedError

    kernels = [
        ("cpu", "float8", 1.0, refuse, lambda: None),
        ("cpu", "copy", 1e-6, lambda: None, lambda: None),
    ]
    monkeypatch.setattr(peaks, "_kernels", lambda: iter(kernels))
    monkeypatch.setattr("sys.argv", ["peaks", "0"])

    peaks.main()

    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (line["device"], line["what"]) == ("cpu", "copy")


def test_the_shortest_call_counts():
    times = iter([0.0, 5.0, 5.0, 5.0, 7.0, 7.0, 7.0, 8.0, 20.0])

    best = peaks.shortest(lambda: None, lambda: None, 10.0, lambda: next(times))

    assert best == pytest.approx(1.0)
