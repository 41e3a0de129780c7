"""As PerfZero's users write it: tf.test.Benchmark, and a constructor that touches the runtime."""

import time

import tensorflow as tf


class Matmul(tf.test.Benchmark):
    def __init__(self, output_dir=None, root_data_dir=None, **kwargs):
        super().__init__()
        self.matrix = tf.random.uniform((64, 64))

    def benchmark_small(self):
        start = time.time()
        for _ in range(10):
            product = tf.matmul(self.matrix, self.matrix)
        self.report_benchmark(
            iters=10,
            wall_time=time.time() - start,
            metrics=[{"name": "rows", "value": product.shape[0], "min_value": 64, "max_value": 64}],
            extras={"device": "cpu", "elements": 4096},
        )

    def benchmark_several(self):
        self.report_benchmark(wall_time=0.1, name="first")
        self.report_benchmark(wall_time=0.2, name="second/deep")

    def benchmark_same_name_twice(self):
        self.report_benchmark(wall_time=0.1)
        self.report_benchmark(wall_time=0.2)


class Parameterized(tf.test.Benchmark, metaclass=tf.__internal__.test.ParameterizedBenchmark):
    _benchmark_parameters = (("small", 8), ("large", 16))

    def benchmark_size(self, size):
        self.report_benchmark(wall_time=size)
