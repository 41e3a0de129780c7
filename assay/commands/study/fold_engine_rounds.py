"""Which cases of a study come next, and how many of them at a time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from assay.core.records import Case, Result, Value
from assay.measure.heat import TOGETHER


class Rounds:
    """Which cases come next: round after round, in an order that the run's name decides."""

    def __init__(
        self, cases: Sequence[Case], rounds: int, seed: str, done: Sequence[Result] = ()
    ) -> None:
        self._rounds, self._cases = rounds, cases
        self._random = random.Random(seed)
        self._good: Counter[str] = Counter()
        self._bad: set[str] = set()
        self._facts: dict[str, Mapping[str, Value]] = {}
        self._crowded: set[str] = set()
        self._queue: list[Case] = []
        self.count = 0  # of groups so far
        for result in done:
            self.ended(result)

    def next_group(self) -> list[Case]:
        self.count += 1
        if self._crowded:
            key = self._crowded.pop()
            return [case for case in self._cases if case.key == key]
        if not self._queue:
            self._queue = self._next_round()
        group, self._queue = self._queue[:TOGETHER], self._queue[TOGETHER:]
        return group

    def again_alone(self, case: Case) -> None:
        """It could not take turns with the others: once more, alone."""
        self._crowded.add(case.key)

    def ended(self, result: Result) -> None:
        key = result.case.key
        if result.status == "ok":
            self._good[key] += 1
            self._facts[key] = result.facts
        elif result.status != "interrupted":
            self._bad.add(key)

    def facts(self, case: Case) -> Mapping[str, Value]:
        """Of a visit that ended well: they are not found out again."""
        return self._facts.get(case.key, {})

    def _next_round(self) -> list[Case]:
        left = [case for case in self._cases if case.key not in self._bad]
        fewest = min((self._good[case.key] for case in left), default=self._rounds)
        if fewest >= self._rounds:
            return []
        due = [case for case in left if self._good[case.key] == fewest]
        return self._random.sample(due, len(due))
