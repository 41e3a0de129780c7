"""How many ONNX files run on each backend, and whether their outputs are torch's.

    python benchmarks/onnx_files.py [NAME …]

Thirty small models of transformers with random weights are exported by torch, in opsets 13 to 21 in
turn, and each file is run as `assay run FILE.onnx` would. Needs torch, transformers, onnxscript and
the backends.
Exit status 1 if a file that was exported is refused or fails somewhere, or gives other outputs.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay import registry
from assay.core.errors import AssayError, EndingError
from assay.engine import plan

BACKENDS = ("onnxruntime", "openvino", "native")
NEAR = 1e-3  # of the largest output
OPSETS = (18, 13, 19, 17, 20, 15, 21)

_TEXT = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 99,
    "max_position_embeddings": 64,
}
_GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99, "n_positions": 64}
_PICTURE = {**_TEXT, "image_size": 32, "patch_size": 8, "num_channels": 3}
_STAGES = {"image_size": 32, "num_channels": 3, "depths": [1, 1]}

# name of a model in transformers → what its configuration is made small by
MODELS: dict[str, dict[str, Any]] = {
    "Bert": _TEXT,
    "Roberta": _TEXT,
    "Electra": {**_TEXT, "embedding_size": 32},
    "Albert": {**_TEXT, "embedding_size": 16},
    "MPNet": _TEXT,
    "DistilBert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 99},
    "Camembert": _TEXT,
    "XLMRoberta": _TEXT,
    "MobileBert": {**_TEXT, "embedding_size": 32, "intra_bottleneck_size": 32},
    "Ernie": _TEXT,
    "GPT2": _GPT,
    "OPT": {**_TEXT, "ffn_dim": 64, "word_embed_proj_dim": 32},
    "GPTNeoX": _TEXT,
    "GPTJ": {**_GPT, "rotary_dim": 4},
    "Llama": {**_TEXT, "num_key_value_heads": 2},
    "Mistral": {**_TEXT, "num_key_value_heads": 2},
    "Qwen2": {**_TEXT, "num_key_value_heads": 2},
    "Phi": _TEXT,
    "Gemma": {**_TEXT, "num_key_value_heads": 2, "head_dim": 8},
    "Bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99},
    "ViT": _PICTURE,
    "DeiT": _PICTURE,
    "Beit": {**_PICTURE, "use_relative_position_bias": True},
    "Dinov2": _PICTURE,
    "CLIPVision": _PICTURE,
    "Swin": {**_STAGES, "embed_dim": 16, "num_heads": [2, 4], "window_size": 4, "patch_size": 2},
    "ConvNext": {**_STAGES, "hidden_sizes": [8, 16], "num_stages": 2},
    "ResNet": {**_STAGES, "embedding_size": 8, "hidden_sizes": [8, 16]},
    "RegNet": {**_STAGES, "embedding_size": 8, "hidden_sizes": [8, 16]},
    "MobileNetV2": {"image_size": 32, "num_channels": 3, "depth_multiplier": 0.25},
}


def main() -> int:
    warnings.simplefilter("ignore")
    wanted = sys.argv[1:] or list(MODELS)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(wanted):
            opset = OPSETS[number % len(OPSETS)]
            rows.append(found := tried(name, opset, Path(folder) / f"{name}.onnx"))
            print(f"{name:12} opset {opset:2}  ", "  ".join(found), flush=True)
    exported = [row for row in rows if len(row) > 1]
    for at, backend in enumerate(BACKENDS):
        good = sum(row[at].endswith("ok") for row in exported)
        refused = sum(" refused: " in row[at] for row in exported)
        print(
            f"{backend}: {good} of {len(exported)} files run, with torch's outputs; "
            f"{refused} refused, {len(exported) - good - refused} wrong or failed"
        )
    print(f"{len(rows) - len(exported)} of {len(rows)} could not be exported")
    return int(any("ok" not in cell for row in exported for cell in row))


def tried(name: str, opset: int, path: Path) -> tuple[str, ...]:
    model, inputs = made(name)
    # the older exporter knows the older opsets; what one cannot export the other may
    for number in dict.fromkeys((opset, 18, 17)):
        error = _exported(model, inputs, number, path)
        if not error:
            said = "" if number == opset else f"(as opset {number}) "
            return tuple(f"{said}{one} {_ran(one, path, model)}" for one in BACKENDS)
    return (f"not exported: {error}",)


def _exported(model: Any, inputs: Mapping[str, Any], opset: int, path: Path) -> str:
    """What kept it from being written, or ""."""
    import torch

    ((name, given),) = inputs.items()
    try:
        torch.onnx.export(
            _positional(model, name),
            (given,),
            str(path),
            opset_version=opset,
            input_names=[name],
            dynamo=opset >= 18,
            verbose=False,
        )
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"
    return ""


def _positional(model: Any, name: str) -> Any:
    """Neither exporter agrees with the other about arguments by name."""
    import torch

    class Positional(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, given: Any) -> Any:
            return self.model(**{name: given})

    return Positional().eval()


def made(name: str) -> tuple[Any, Mapping[str, Any]]:
    import torch
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**MODELS[name])
    config.use_cache, config.return_dict = False, False
    config._attn_implementation = "eager"
    model = getattr(transformers, f"{name}Model")(config).eval()
    if "image_size" in MODELS[name]:
        return model, {"pixel_values": torch.rand(2, 3, 32, 32)}
    return model, {"input_ids": torch.randint(0, 99, (2, 12))}


def _ran(backend: str, path: Path, model: Any) -> str:
    """`ok`, or what is wrong, of the file on the inputs that assay makes for it."""
    import torch

    case = plan.resolve(plan.parse_case(f"{path}@{backend}"))
    job = registry.workload(case.workload).kinds["onnx"](**case.params)
    try:
        with registry.backend(backend).open(lambda: job, case) as session:
            session.step()
            found = session.outputs().ravel()
    except (AssayError, EndingError) as error:
        return f"refused: {str(error).splitlines()[0][:160]}"
    except Exception as error:
        return f"failed: {type(error).__name__}: {str(error).splitlines()[0][:60]}"
    with torch.no_grad():
        given = {key: torch.from_numpy(array) for key, array in job.train_batch[0].items()}
        outputs = [one for one in model(**given) if isinstance(one, torch.Tensor)]
    wanted = np.concatenate([one.numpy().ravel() for one in outputs])
    if found.size != wanted.size:
        return f"gives {found.size} values, torch {wanted.size}"
    apart = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    return "ok" if apart <= NEAR else f"is {apart:.1g} of the largest output apart"


if __name__ == "__main__":
    sys.exit(main())
