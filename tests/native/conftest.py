"""Compilers for tests, and one cache of what they build."""

from __future__ import annotations

import msgspec
import pytest

from assay.native.toolchain import SANITIZE_FLAGS, toolchain

RACES = ("-O1", "-fsanitize=thread")


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


@pytest.fixture(scope="session")
def raced_tools():
    """With ThreadSanitizer."""
    tools = toolchain("portable", sanitize=True)
    flags = tuple(flag for flag in tools.flags if flag not in SANITIZE_FLAGS)
    return msgspec.structs.replace(tools, flags=(*flags, *RACES))
