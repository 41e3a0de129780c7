from __future__ import annotations

from assay.logs.values import Values


def test_values_come_back_in_order_from_file_and_memory():
    values = Values(limit=3)
    for number in range(10):
        values.extend([float(number), number + 0.5])
    expected = [part for number in range(10) for part in (float(number), number + 0.5)]
    assert [value for chunk in values.chunks() for value in chunk] == expected
    assert [value for chunk in values.chunks(skip=7) for value in chunk] == expected[7:]
    assert len(values) == 20


def test_memory_holds_no_more_than_it_may():
    values = Values(limit=8)
    for number in range(1000):
        values.extend([float(number)])
    assert len(values._recent) < 8
    values.close()
