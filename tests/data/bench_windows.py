"""Works until a profiler's window has closed, whose trace then lies in the output."""

import importlib
import time
from pathlib import Path

import assay


class Windows(assay.Benchmark):
    def __init__(self, output_dir, framework):
        super().__init__()
        self._output = Path(output_dir)
        self._work = getattr(self, framework)(importlib.import_module(framework))

    def benchmark_until_traced(self):
        end = time.monotonic() + 60
        while time.monotonic() < end and not any(self._output.rglob("*.*.*")):
            self._work()
        self.report_benchmark(wall_time=1.0)

    def torch(self, torch):
        matrix = torch.rand(64, 64)
        return lambda: matrix @ matrix

    def jax(self, jax):
        matrix, product = jax.numpy.ones((64, 64)), jax.jit(lambda a: a @ a)
        return lambda: product(matrix).block_until_ready()

    def tensorflow(self, tf):
        matrix, product = tf.ones((64, 64)), tf.function(lambda a: tf.matmul(a, a))
        return lambda: product(matrix)
