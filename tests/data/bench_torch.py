import time

import torch

import assay


class Matmul(assay.Benchmark):
    def benchmark_small(self):
        matrix = torch.rand(64, 64)
        start = time.time()
        for _ in range(10):
            product = matrix @ matrix
        self.report_benchmark(
            iters=10,
            wall_time=time.time() - start,
            metrics=[{"name": "rows", "value": product.shape[0], "min_value": 64, "max_value": 64}],
            extras={"device": "cpu", "elements": 4096},
        )
