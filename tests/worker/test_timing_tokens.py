"""Tokens are timed one by one where the host sees them, and by requests where a loop makes all."""

from __future__ import annotations

import pytest

from assay.core import messages
from assay.core.sessions import Generating
from assay.worker import timing


class Spoken:
    """Text whose first token takes 8 s, and every other 1 s."""

    items = 4

    def __init__(self, sees_tokens: bool, count: int = 5) -> None:
        self.now, self.tokens, self.sees_tokens, self.requests = 0.0, count, sees_tokens, 0

    def first_token(self) -> None:
        self.now += 8
        self.requests += 1

    def next_token(self) -> None:
        assert self.sees_tokens
        self.now += 1

    def step(self) -> None:
        self.now += 8 + (self.tokens - 1)

    def wait(self) -> None: ...

    def facts(self) -> dict[str, str]:
        return {}


def timed(session: Spoken, seconds: float = 0.0) -> dict[str, tuple[float, ...]]:
    assert isinstance(session, Generating)
    order = messages.TimeTokens(seconds=seconds)
    return {
        one.metric: one.values for one in timing.time_tokens(session, order, lambda: session.now)
    }


def test_every_token_the_host_sees_has_a_time_of_its_own():
    assert timed(Spoken(sees_tokens=True)) == {
        "time_to_first_token": (8.0,) * 3,
        "time_per_output_token": (1.0,) * 4 * 3,
    }


def test_a_request_made_by_one_loop_shares_what_is_left_after_its_first_token():
    assert timed(Spoken(sees_tokens=False)) == {
        "time_to_first_token": (8.0,) * 3,
        "time_per_output_token": (1.0,) * 3,
    }


@pytest.mark.parametrize("sees_tokens", [True, False])
def test_a_single_token_has_none_after_it(sees_tokens):
    assert list(timed(Spoken(sees_tokens, count=1))) == ["time_to_first_token"]


def test_requests_go_on_until_the_time_is_spent():
    session = Spoken(sees_tokens=True)

    found = timed(session, seconds=120.0)

    assert len(found["time_to_first_token"]) == 10  # of 12 s each
    assert session.requests == 10 + 2
