"""`python -m assay.worker.hpvm_model SETTINGS FOLDER TARGET`: the model of a launched graph.

An HPVM-C program that runs starts it when it launches a graph that was not built yet: FOLDER holds
what the graph computes, TARGET gets the model's library and weights.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from assay.core.errors import AssayError
from assay.native.hpvm.builder import ModelSettings, build_recording


def main() -> int:
    settings = msgspec.json.decode(sys.argv[1], type=ModelSettings)
    try:
        build_recording(settings, Path(sys.argv[2]), Path(sys.argv[3]))
    except AssayError as error:
        sys.stderr.write(f"error: {error}\n" + (f"hint:  {error.hint}\n" if error.hint else ""))
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
