"""The compiler and its flags."""

from __future__ import annotations

import pytest

from assay.native.toolchain import this_cpu


@pytest.mark.parametrize(
    "told, flags",
    [
        ("flags : avx512f avx512_fp16 amx_tile\n", ("-march=native", "-mno-avx512fp16")),
        ("flags : avx512f avx512_vnni\n", ("-march=native",)),
    ],
)
def test_no_16_bit_arithmetic_where_the_cpu_has_it(tmp_path, told, flags):
    (tmp_path / "cpuinfo").write_text(told)

    assert this_cpu(tmp_path / "cpuinfo") == flags


def test_a_system_that_says_nothing_of_its_cpu_is_one_without(tmp_path):
    assert this_cpu(tmp_path / "nothing") == ("-march=native",)
