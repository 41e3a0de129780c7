"""A benchmark class whose methods each end in another way, and classes that are hard to make."""

import ctypes
import os
import signal
import sys
import time
import unittest

import assay


class Endings(assay.Benchmark):
    helper = "benchmark is in my value, but I am no method"

    def __init__(self, output_dir=None, root_data_dir=None, **kwargs):
        self.output_dir, self.root_data_dir, self.more = output_dir, root_data_dir, kwargs

    def benchmark_fine(self):
        """All is well."""
        self.report_benchmark(
            iters=10,
            wall_time=0.5,
            metrics=[{"name": "accuracy", "value": 0.9, "min_value": 0.9, "max_value": 0.9}],
        )

    def benchmark_out_of_bounds(self):
        self.report_benchmark(
            wall_time=0.5, metrics=[{"name": "accuracy", "value": 0.8, "min_value": 0.9}]
        )

    def benchmark_not_a_number(self):
        self.report_benchmark(
            wall_time=0.5, metrics=[{"name": "loss", "value": float("nan"), "max_value": 1}]
        )

    def benchmark_raises(self):
        self.report_benchmark(wall_time=0.25, name="before")
        raise ValueError("no good")

    def benchmark_silent(self):
        pass

    def benchmark_named(self):
        self.report_benchmark(wall_time=0.1, name="x")

    def benchmark_several(self):
        for size in (1, 2):
            self.report_benchmark(wall_time=size / 10, name=f"size_{size}", extras={"size": size})

    def benchmark_same_name_twice(self):
        self.report_benchmark(wall_time=0.1)
        self.report_benchmark(wall_time=0.2)

    def benchmark_says_no(self):
        self.report_benchmark(
            wall_time=1,
            extras={"top_1": '{"value": 3, "succeeded": false, "description": "too low"}'},
        )

    def benchmark_exits(self):
        os._exit(3)

    def benchmark_leaves(self):
        sys.exit(0)

    def benchmark_segfaults(self):
        self.report_benchmark(wall_time=0.1, name="before")
        ctypes.string_at(0)

    def benchmark_is_killed(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def benchmark_hangs(self):
        self.report_benchmark(wall_time=0.1, name="before")
        time.sleep(1000)

    def benchmark_changes_its_folder(self):
        os.chdir("/")
        self.report_benchmark(wall_time=0.5)

    def benchmark_skips(self):
        raise unittest.SkipTest("needs eight GPUs")

    def benchmark_tells_its_constructor(self):
        self.report_benchmark(
            extras={"output": self.output_dir, "data": self.root_data_dir, **self.more}
        )


class Dotted(assay.Benchmark):
    pass


setattr(Dotted, "benchmark__name.performance", lambda self: self.report_benchmark(wall_time=1))


class Refuses:
    def __init__(self, must_have):
        pass

    def benchmark_never(self):
        pass


class Old:
    """The constructor of PerfZero's README."""

    def __init__(self, output_dir, data_dir, **kwargs):
        self.given = output_dir, data_dir, kwargs

    def benchmark_it(self):
        assert self.given[1] == "/somewhere"
        assert "root_data_dir" not in self.given[2]


class Plain:
    """No base, no constructor."""

    def benchmark_it(self):
        pass
