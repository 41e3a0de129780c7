"""Compilers for tests, and one cache of what they build."""

from __future__ import annotations

import pytest

from assay.native.toolchain import toolchain


@pytest.fixture(scope="session")
def native_cache(cache_home):
    """One for all tests of a session: the runtime is compiled once for each set of flags."""
    return cache_home / "assay" / "native"


@pytest.fixture(scope="session")
def plain_tools():
    return toolchain("portable")


@pytest.fixture(scope="session")
def checked_tools():
    """With AddressSanitizer and UndefinedBehaviorSanitizer."""
    return toolchain("portable", sanitize=True)
