"""The series in its file, and the peaks."""

import json
from pathlib import Path

from assay.monitors.sources.series import Series, read

LOOK = {"rss": 10, "vms": 20, "cpu_percent": 30.0}


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_begins_as_perfzeros(tmp_path):
    series = Series(tmp_path / "log")
    series.add(0.05, 0.1, {"gpu_power": 5.0})
    series.add(0.1, 0.1, LOOK)
    series.close()

    (line,) = lines(tmp_path / "log")

    assert list(line) == ["time", "rss", "vms", "cpu_percent", "gpu_power"]


def test_a_mean_is_over_time_not_over_looks(tmp_path):
    series = Series(tmp_path / "log")
    series.add(1.0, 1.0, {"x": 0.0})
    series.add(4.0, 3.0, {"x": 8.0})

    found = series.peaks({"mean_x": ("x", "mean"), "max_x": ("x", "max"), "none": ("y", "max")})

    assert found == {"mean_x": 6.0, "max_x": 8.0}


def test_what_is_not_finite_is_left_out(tmp_path):
    series = Series(tmp_path / "log")
    series.add(1.0, 1.0, {**LOOK, "gpu_power": float("nan"), "cpu_percent": float("inf")})
    series.close()

    (line,) = lines(tmp_path / "log")

    assert line["cpu_percent"] == 0.0
    assert "gpu_power" not in line
    assert series.peaks({"p": ("gpu_power", "max")}) == {}


def test_lines_cut_short_or_foreign_are_skipped(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b'{"time": 1.1, "rss": 5}\nhello\n{"rss": 5}\n\xff\n{"time": 2.2, "rs')

    assert read(path) == [{"time": 1.1, "rss": 5.0}]


def test_a_full_disk_costs_the_lines_and_not_the_peaks():
    series = Series(Path("/dev/full"))
    for _ in range(1000):  # more than any buffer holds
        series.add(1.0, 1.0, LOOK)
    series.close()

    assert series.peaks({"max_rss": ("rss", "max")}) == {"max_rss": 10}


def test_a_folder_that_is_gone_costs_the_lines_and_not_the_peaks(tmp_path):
    series = Series(tmp_path / "gone" / "log")
    series.add(1.0, 1.0, LOOK)
    series.close()

    assert series.peaks({"max_rss": ("rss", "max")}) == {"max_rss": 10}
