"""Linear regression by gradient descent in numpy: prints speed, loss and time as it goes."""

from __future__ import annotations

import argparse
import time

import numpy as np


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("--batches", type=int, default=50)
    options.add_argument("--batch-size", type=int, default=256)
    asked = options.parse_args()
    draw = np.random.default_rng(0)
    truth = draw.normal(size=(128, 1))
    weights = np.zeros((128, 1))
    for epoch in range(asked.epochs):
        begun = time.perf_counter()
        for batch in range(asked.batches):
            start = time.perf_counter()
            inputs = draw.normal(size=(asked.batch_size, 128))
            wrong = inputs @ (weights - truth)
            weights -= 0.1 / asked.batch_size * inputs.T @ wrong
            if batch % 10 == 9:
                speed = asked.batch_size / (time.perf_counter() - start)
                print(f"Epoch[{epoch}] Batch [{batch}]\tSpeed: {speed:.2f} samples/sec", flush=True)
        print(f"[Epoch {epoch}] loss={float(np.mean(wrong**2)):.6g}")
        print(f"[Epoch {epoch}] time cost: {time.perf_counter() - begun:.6f}", flush=True)


if __name__ == "__main__":
    main()
