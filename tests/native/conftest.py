"""Compilers for tests, and one cache of what they build."""

from __future__ import annotations

import pytest

from assay.native.compiler import toolchain


@pytest.fixture(scope="session")
def native_cache(tmp_path_factory):
    """One for all tests of a session: the runtime is compiled once for each set of flags."""
    return tmp_path_factory.getbasetemp() / "native-cache"


@pytest.fixture(scope="session")
def plain_tools():
    return toolchain("portable", portable=True)


@pytest.fixture(scope="session")
def checked_tools():
    """With AddressSanitizer and UndefinedBehaviorSanitizer."""
    return toolchain("portable", sanitize=True)
