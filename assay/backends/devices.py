"""Which devices a framework sees: `python -m assay.backends.devices NAME`, in its own process."""

from __future__ import annotations

import sys
from collections.abc import Callable


def main() -> None:
    import json  # not at the top: the registry loads this file with its folder

    name = sys.argv[1]
    sys.stdout.write(json.dumps({"version": version(name), "devices": PROBES[name]()}))


def version(framework: str) -> str:
    """Of the distribution that provides the module; tensorflow has several."""
    from importlib import metadata

    owners = metadata.packages_distributions().get(framework, [framework])
    return metadata.version(owners[0])


def _torch() -> list[str]:
    import torch

    return ["cpu"] + [
        f"cuda:{i} {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())
    ]


def _jax() -> list[str]:
    import jax

    return [f"{d.platform}:{d.id} {d.device_kind}" for d in jax.devices()]


def _tensorflow() -> list[str]:
    import tensorflow

    return [
        d.name.removeprefix("/physical_device:") for d in tensorflow.config.list_physical_devices()
    ]


PROBES: dict[str, Callable[[], list[str]]] = {
    "jax": _jax,
    "tensorflow": _tensorflow,
    "torch": _torch,
}


if __name__ == "__main__":
    main()
