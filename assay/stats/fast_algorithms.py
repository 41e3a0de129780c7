"""How many times fewer operations a known algorithm executes than are counted for a product.

A direct algorithm executes what is counted. Winograd convolution (Lavin and Gray 2016) executes
fewer, and so does Strassen's product (1969). These are upper bounds: a rate beyond the measured
peak times the saving is not possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

WINOGRAD_3 = 2.25  # of a kernel of 3 along an axis, F(6, 3): 6 * 3 / 8; two axes save 5.06
STRASSEN = 8 / 7  # of each level
SMALLEST_BLOCK = 32  # of a matrix; below it a further level costs more than it saves
UNKNOWN = WINOGRAD_3**2 * STRASSEN**8  # of work whose products are not known: both at once


def convolution_saving(kernel: Sequence[int], product: Sequence[int] = ()) -> float:
    """Of a convolution with a kernel of these sizes; one of size 1 is the matrix `product`.

    Of other sizes it is the limit of Winograd and Fourier transforms with large tiles.
    """
    saving = math.prod(WINOGRAD_3 if size == 3 else max(size, 1) for size in kernel)
    return saving if saving > 1 else product_saving(product)


def product_saving(sizes: Sequence[int]) -> float:
    """Of a matrix product with these sizes, by as many levels of Strassen as its smallest has."""
    smallest = min(sizes, default=0)
    levels = int(math.log2(smallest / SMALLEST_BLOCK)) if smallest > SMALLEST_BLOCK else 0
    return STRASSEN**levels
