"""Gradients of one step, by one device and shared by two: `shared_step.py BACKEND OPTIONS OUT`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from assay.core import registry
from assay.core.case_text import parse_case
from assay.measure import plan
from assay.workloads.net.layers import Conv, Dense, Flatten, Pool, Relu
from assay.workloads.net.nets import Net, NetWorkload

# Without dropout, which draws on each device by itself.
PLAIN = NetWorkload(
    summary="",
    source="",
    params={"batch_size": 6, "seed": 0},
    net=lambda: Net(
        input_shape=(8, 8, 3), layers=(Conv(4, 3), Relu(), Pool(2), Flatten(), Dense(10))
    ),
    optimizer="sgd",
    learning_rate=1.0,
)

AHEAD = 100  # steps enqueued before one is waited for: more than XLA lets into a CPU device


def weights(session) -> list[np.ndarray]:
    """As they are now; of Keras on JAX those of its state: the model has given its own away."""
    state = getattr(session, "_state", None)
    kept = state[0] if isinstance(state, tuple) else session.weights()
    return [np.array(weight, np.float32) for weight in kept]


def gradients(backend: str, options: str, devices: int) -> list[np.ndarray]:
    text = f"mnist-mlp:batch_size=6@{backend}:optimizer=sgd,device=cpu,devices={devices}{options}"
    case, chosen = plan.resolve(parse_case(text)), registry.backend(backend)
    assert chosen.refuses(case) == ""
    (kind,) = chosen.accepts

    def build():
        return PLAIN.kinds[kind](batch_size=6, seed=0)

    os.environ.update(chosen.variables(case, Path(sys.argv[3]).parent))
    with chosen.open(build, case) as session:
        before = weights(session)
        session.step()
        session.wait()
        found = [old - new for old, new in zip(before, weights(session), strict=True)]
        assert session.items == 6
        assert session.facts().get("devices", 1) == devices
        for _ in range(AHEAD):
            session.step()
        session.wait()
        return found


def main() -> None:
    backend, options, out = sys.argv[1:]
    shared = gradients(backend, options, 2)  # first: devices are made when a framework starts
    if backend == "keras-jax":
        sys.modules["keras"].distribution.set_distribution(None)
    whole = gradients(backend, options, 1)
    both = {"whole": whole, "shared": shared}
    np.savez(out, **{f"{name}{n}": g for name, of in both.items() for n, g in enumerate(of)})


if __name__ == "__main__":
    main()
