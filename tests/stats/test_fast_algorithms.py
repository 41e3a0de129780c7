"""How many operations known algorithms save."""

import pytest

from assay.stats.fast_algorithms import convolution_saving, product_saving


@pytest.mark.parametrize(
    "kernel, saving",
    [((3, 3), 5.0625), ((3,), 2.25), ((1, 3), 2.25), ((7, 7), 49), ((3, 3, 3), 2.25**3)],
)
def test_a_convolution_saves_by_its_kernel(kernel, saving):
    assert convolution_saving(kernel) == saving


@pytest.mark.parametrize(
    "sizes, levels", [((64, 1000, 1000), 1), ((32, 1000, 1000), 0), ((512, 512, 512), 4), ((), 0)]
)
def test_a_product_saves_an_eighth_for_each_level_that_its_smallest_size_allows(sizes, levels):
    assert product_saving(sizes) == pytest.approx((8 / 7) ** levels)
    assert convolution_saving((1, 1), sizes) == product_saving(sizes)
