"""The compiler and its flags."""

from __future__ import annotations

import signal
import subprocess

import pytest

from assay.native.toolchain import toolchain


@pytest.mark.real("compiler")
@pytest.mark.parametrize(
    "wrong, status",
    [
        ("items[0] = 1;", 0),
        ("items[count] = 1;", 1),  # AddressSanitizer tells and exits
        ("return 2147483647 + count;", -signal.SIGILL),  # what is undefined is a trap
        ("*(int*)((char*)items + count - 3) = 1;", -signal.SIGILL),
    ],
    ids=["nothing", "outside", "overflow", "misaligned"],
)
def test_a_sanitized_program_ends_at_what_is_wrong(wrong, status, tmp_path):
    tools = toolchain("portable", sanitize=True)
    (tmp_path / "net.cpp").write_text(
        "int main(int count, char**) {\n"
        f"int room[4], *items = room;\ncount *= 4;\n{wrong}\nreturn 0;\n}}\n"
    )
    tools.compile(tmp_path / "net.cpp", tmp_path / "net.o", tmp_path)
    tools.link([tmp_path / "net.o"], tmp_path / "net", shared=False)

    assert subprocess.run([tmp_path / "net"], capture_output=True).returncode == status
