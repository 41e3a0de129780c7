"""The process that compares a compiled ONNX file with ONNX Runtime: `… check_onnx REQUEST`.

ONNX Runtime is loaded here, so that it takes no memory or threads of the process that is measured.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from assay.native.onnx.file_check import CheckRequest, check_file, write_outcome


def main() -> None:
    request = msgspec.json.decode(sys.argv[1], type=CheckRequest)
    outcome = check_file(request.path, request.shapes, request.kernels)
    write_outcome(outcome, Path(request.outcome))


if __name__ == "__main__":
    main()
