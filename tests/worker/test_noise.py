"""Pairs of equal matrix products: what the doctor measures the machine's noise with."""

from __future__ import annotations

import itertools

from assay.worker import noise


def test_pairs_are_taken_until_the_time_is_up(monkeypatch):
    ticks = itertools.count(0.0, 0.001)
    monkeypatch.setattr(noise, "clock", lambda: next(ticks))

    first, second = noise.pairs(0.05)

    assert len(first) == len(second) >= 10
    assert min(*first, *second) > 0


def test_the_module_prints_two_lists(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["noise", "0"])

    noise.main()

    assert capsys.readouterr().out.startswith("[[")
