"""What follows from series of results: shifts, drifts, what changed, what a check found."""

from __future__ import annotations

from typing import Literal

Judgement = Literal["regression", "improvement", "suspect", "fine", "not-comparable"]
Outcome = Literal["", "confirmed", "refuted", "undecided"]
