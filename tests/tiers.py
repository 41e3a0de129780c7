"""Which tests run in which tier: `make test-fast`, `make test`, `make long`.

`make test-fast` runs tests without the marks `real` and `long`, `make test` those without `long`,
`make long` those with it. A test that is parametrized over a family of models, datasets or seeds is
marked with the argument and the family, `@pytest.mark.family(network="resnets")`: the members that
are listed here stay in `make test`, the others are `long`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pytest

# family → members that stay in `make test`
STAYS: dict[str, frozenset[str]] = {
    "batch_norms": frozenset({"mode0"}),
    "devices": frozenset({"jax", "torch"}),  # backends that share a batch among devices
    "engines": frozenset({"torch"}),  # of Keras
    "large_networks": frozenset({"resnet50-imagenet"}),
    "networks": frozenset({"few"}),  # HPVM's ten, by tests/workloads/models/test_accuracy_nets.py
    "runtime_workloads": frozenset({"mnist-mlp", "resnet50", "gru", "vit"}),
    "zoo": frozenset({"few"}),  # workloads, by tests/workloads/test_zoo.py
}


def mark_tiers(items: Iterable[pytest.Item]) -> None:
    """Mark as `long` each item whose member of a family is not listed."""
    stays = defaultdict(bool)
    for item in items:
        families = [mark.kwargs for mark in item.iter_markers("family")]
        if not families:
            continue
        if not all(is_listed(item, each) for each in families):
            item.add_marker(pytest.mark.long)
        name = item.nodeid.partition("[")[0]
        stays[name] |= item.get_closest_marker("long") is None
    check_families(stays, items)


def is_listed(item: pytest.Item, families: dict[str, str]) -> bool:
    return all(
        member(item.callspec.params[argument]) in STAYS[family]
        for argument, family in families.items()
    )


def member(value: object) -> str:
    """A member's name: of an object its attribute `name`, of a function its own."""
    return str(getattr(value, "name", None) or getattr(value, "__name__", value))


def check_families(stays: dict[str, bool], items: Iterable[pytest.Item]) -> None:
    """A family without a listed member would leave `make test` without anybody noticing."""
    wrong = [name for name, some in stays.items() if not some]
    if wrong and not any("::" in argument for argument in next(iter(items)).config.args):
        raise pytest.UsageError(
            f"{wrong[0]} runs in no member in `make test`. List one in STAYS of tests/tiers.py."
        )
