"""As PerfZero's users write them: a class with a method for each number of GPUs.

Each sets how many it wants and shares a batch by tf.distribute; without GPUs, by parts of the CPU.
"""

import time

import tensorflow as tf


class Linear(tf.test.Benchmark):
    def __init__(self, output_dir=None, default_flags=None, root_data_dir=None, **kwargs):
        super().__init__()
        self.num_gpus = 0

    def benchmark_1_gpu(self):
        self.num_gpus = 1
        self._run_and_report_benchmark()

    def benchmark_2_gpu(self):
        self.num_gpus = 2
        self._run_and_report_benchmark()

    def _run_and_report_benchmark(self):
        strategy = tf.distribute.MirroredStrategy(self._devices())
        with strategy.scope():
            weights = tf.Variable(tf.zeros((4, 1)))

        @tf.function
        def step(rows):
            def replica():
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((rows @ weights - 1.0) ** 2)
                gradient = tape.gradient(loss, weights)
                context = tf.distribute.get_replica_context()
                weights.assign_sub(0.1 * context.all_reduce("mean", gradient))

            strategy.run(replica)

        start = time.time()
        for _ in range(5):
            step(tf.ones((8, 4)))
        seconds = time.time() - start
        replicas = strategy.num_replicas_in_sync
        self.report_benchmark(
            iters=5,
            wall_time=seconds,
            metrics=[
                {"name": "exp_per_second", "value": 5 * 8 * replicas / seconds},
                {"name": "replicas", "value": replicas, "min_value": self.num_gpus},
            ],
            extras={"num_gpus": self.num_gpus},
        )

    def _devices(self):
        gpus = tf.config.list_physical_devices("GPU")
        if len(gpus) >= self.num_gpus:
            return [f"/gpu:{number}" for number in range(self.num_gpus)]
        parts = [tf.config.LogicalDeviceConfiguration()] * self.num_gpus
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], parts)
        return [f"/cpu:{number}" for number in range(self.num_gpus)]
