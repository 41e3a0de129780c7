"""One small network in torch and in JAX, fair or with a fault in torch's making."""

import threading

import numpy as np

from assay.core.sessions import Job


def arrays(units=16):
    random = np.random.default_rng(0)
    shapes = ((12, units), (units,), (units, 5), (5,))
    return [random.normal(size=shape).astype(np.float32) for shape in shapes]


def job(model):
    random = np.random.default_rng(1)
    inputs = random.normal(size=(8, 12)).astype(np.float32)
    targets = random.integers(0, 5, 8).astype(np.int32)
    return Job(model=model, optimizer="sgd", train_batch=(inputs, targets))


def jax_job():
    import jax

    def apply(params, inputs, key=None):
        hidden = jax.nn.relu(inputs @ params[0] + params[1])
        return hidden @ params[2] + params[3]

    return job((apply, [jax.numpy.asarray(array) for array in arrays()]))


def torch_model(units=16):
    import torch

    model = torch.nn.Sequential(
        torch.nn.Linear(12, units), torch.nn.ReLU(), torch.nn.Linear(units, 5)
    )
    with torch.no_grad():
        for weight, array in zip(model.parameters(), arrays(units), strict=True):
            weight.copy_(torch.from_numpy(array.T))
    return model


class Fair:
    def jax(self):
        return jax_job()

    def torch(self):
        return job(torch_model())


class Wider:
    """One unit more in one layer."""

    def jax(self):
        return jax_job()

    def torch(self):
        return job(torch_model(units=17))


class Tf32:
    """A setting changed in passing."""

    def jax(self):
        return jax_job()

    def torch(self):
        import torch

        torch.set_float32_matmul_precision("high")
        return job(torch_model())


class Half:
    """Weights and outputs are float32, but the products are not."""

    def jax(self):
        return jax_job()

    def torch(self):
        import torch

        class InHalf(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = torch_model()

            def forward(self, inputs):
                with torch.autocast("cpu", dtype=torch.float16):
                    return self.inner(inputs).float()

        return job(InHalf())


class Unwaited:
    """Training work goes to a queue of its own, of which torch's wait knows nothing."""

    def jax(self):
        return jax_job()

    def torch(self):
        import torch

        class Queued(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = torch_model()
                self.queue = []

            def forward(self, inputs):
                if self.training:
                    before = self.queue[-1] if self.queue else None
                    self.queue.append(threading.Thread(target=work, args=(before,), daemon=True))
                    self.queue[-1].start()
                while not self.training and self.queue:  # outputs come after all that is queued
                    self.queue.pop(0).join()
                return self.inner(inputs)

        def work(before):
            if before:
                before.join()
            left = torch.ones(600, 600)
            for _ in range(16):  # much longer than a step, also beside other programs
                left = left @ left / 600

        return job(Queued())
