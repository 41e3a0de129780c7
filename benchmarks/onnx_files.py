"""How many ONNX files run on each backend, and whether their outputs are torch's.

    python benchmarks/onnx_files.py [--json FILE] [NAME …]
    python benchmarks/onnx_files.py --show FILE

Thirty small models of torchvision, timm and transformers with random weights are exported by torch,
in opsets 13 to 21 in turn (both of its exporters), and each file is run as `assay run FILE.onnx`
would. NAME is a model or the beginning of some: `timm:`. --json keeps a line a model, and measures
only those that are not there yet; --show prints what is kept as a table.
Needs `pip install 'assay-lab[torch,torchvision,timm,hf,onnxruntime,openvino,native]' onnxscript`.
Exit status 1 if a file that was exported is refused or fails somewhere, or gives other outputs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.errors import AssayError, EndingError
from assay.measure import plan
from assay.workloads.user import hub

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
_PICTURE = {**_TEXT, "image_size": 32, "patch_size": 8, "num_channels": 3}
_STAGES = {"image_size": 32, "num_channels": 3, "depths": [1, 1]}

# name of a model in transformers → what its configuration is made small by
CONFIGURED: dict[str, dict[str, Any]] = {
    "Bert": _TEXT,
    "DistilBert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 99},
    "Albert": {**_TEXT, "embedding_size": 16},
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99, "n_positions": 64},
    "Llama": {**_TEXT, "num_key_value_heads": 2},
    "Bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99},
    "ViT": _PICTURE,
    "CLIPVision": _PICTURE,
    "Swin": {**_STAGES, "embed_dim": 16, "num_heads": [2, 4], "window_size": 4, "patch_size": 2},
    "ConvNext": {**_STAGES, "hidden_sizes": [8, 16], "num_stages": 2},
}
# of their smallest, and with images of so many pixels
PICTURES = {
    "torchvision:squeezenet1_1": 64,
    "torchvision:shufflenet_v2_x0_5": 64,
    "torchvision:mobilenet_v2": 64,
    "torchvision:mobilenet_v3_small": 64,
    "torchvision:mnasnet0_5": 64,
    "torchvision:resnet18": 64,
    "torchvision:efficientnet_b0": 64,
    "torchvision:regnet_y_400mf": 64,
    "torchvision:googlenet": 64,
    "torchvision:densenet121": 64,
    "timm:vit_tiny_patch16_224": 64,
    "timm:pit_ti_224": 64,
    "timm:convnext_atto": 64,
    "timm:mobilevit_xxs": 64,
    "timm:edgenext_xx_small": 64,
    "timm:ghostnet_050": 64,
    "timm:lcnet_050": 64,
    "timm:mobilenetv4_conv_small_050": 64,
    "timm:resmlp_12_224": 64,
    "timm:repvgg_a0": 64,
}
MODELS = [*PICTURES, *(f"transformers:{name}" for name in CONFIGURED)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--show", type=Path, metavar="FILE")
    parser.add_argument("--backends", default=",".join(BACKENDS), help="native:kernels=portable")
    given = parser.parse_args()
    if given.show:
        show(_kept(given.show))
        return 0
    warnings.simplefilter("ignore")
    hub.load_torchvision()
    rows = _kept(given.json)
    done = {row["model"] for row in rows}
    asked = [name for name in MODELS if not given.names or name.startswith(tuple(given.names))]
    for name in (name for name in asked if name not in done):
        opset = OPSETS[MODELS.index(name) % len(OPSETS)]
        rows.append(row := tried(name, opset, given.backends.split(",")))
        print(json.dumps(row), flush=True)
        if given.json:
            with given.json.open("a") as file:
                file.write(json.dumps(row) + "\n")
    show(rows)
    return int(any(_good(row, one) != "yes" for row in rows if row["opset"] for one in BACKENDS))


def _kept(path: Path | None) -> list[dict[str, Any]]:
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def _good(row: Mapping[str, Any], backend: str) -> str:
    said = str(row.get(backend, "not tried"))
    return "yes" if said == "ok" else said


def show(rows: list[dict[str, Any]]) -> None:
    print(f"| model | opset | {' | '.join(BACKENDS)} |\n|---|---:|{'---|' * len(BACKENDS)}")
    exported = [row for row in rows if row["opset"]]
    for row in exported:
        cells = (row["model"], str(row["opset"]), *(_good(row, one) for one in BACKENDS))
        print(f"| {' | '.join(cells)} |")
    for backend in BACKENDS:
        said = [row[backend] for row in exported if backend in row]
        good, refused = said.count("ok"), sum(one.startswith("refused") for one in said)
        print(
            f"{backend}: {good} of {len(said)} files run, with torch's outputs; "
            f"{refused} refused, {len(said) - good - refused} wrong or failed"
        )
    for row in rows:
        if not row["opset"]:
            print(f"{row['model']} could not be exported: {row['error']}")


def tried(name: str, opset: int, backends: list[str]) -> dict[str, Any]:
    """What became of its file on each backend; opset 0: torch wrote none."""
    model, inputs = made(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        # the older exporter knows the older opsets; what one cannot export the other may
        for number in dict.fromkeys((opset, 18, 17)):
            error = _exported(model, inputs, number, path)
            if not error:
                found = {one.partition(":")[0]: _ran(one, path, model) for one in backends}
                return {"model": name, "opset": number, **found}
    return {"model": name, "opset": 0, "error": error}


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
            external_data=False,
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
            return tensors(self.model(**{name: given}))

    return Positional().eval()


def tensors(found: Any) -> tuple[Any, ...]:
    """What a model gives, alone or in a record of transformers."""
    import torch

    if isinstance(found, torch.Tensor):
        return (found,)
    parts = found.to_tuple() if hasattr(found, "to_tuple") else found
    return tuple(one for one in parts if isinstance(one, torch.Tensor))


def made(name: str) -> tuple[Any, Mapping[str, Any]]:
    import torch

    torch.manual_seed(0)
    hub, _, which = name.partition(":")
    if hub == "transformers":
        return _configured(which)
    size = PICTURES[name]
    if hub == "torchvision":
        from torchvision import models

        quiet = {"init_weights": True} if which == "googlenet" else {}
        model = models.get_model(which, weights=None, num_classes=10, **quiet)
    else:
        import timm

        fixed = {"img_size": size} if timm.get_pretrained_cfg(which).fixed_input_size else {}
        model = timm.create_model(which, pretrained=False, num_classes=10, **fixed)
    with torch.no_grad():
        for weight in model.parameters():
            if not weight.any():  # a head of zeros would make every output nothing
                weight.normal_(std=0.02)
    return model.eval(), {"x": torch.rand(2, 3, size, size)}


def _configured(name: str) -> tuple[Any, Mapping[str, Any]]:
    import torch
    import transformers

    config = getattr(transformers, f"{name}Config")(**CONFIGURED[name])
    config.use_cache = False
    config._attn_implementation = "eager"
    model = getattr(transformers, f"{name}Model")(config).eval()
    if "image_size" in CONFIGURED[name]:
        return model, {"pixel_values": torch.rand(2, 3, 32, 32)}
    return model, {"input_ids": torch.randint(0, 99, (2, 12))}


def _ran(backend: str, path: Path, model: Any) -> str:
    """`ok`, or what is wrong, of the file on the inputs that assay makes for it."""
    import torch

    case = plan.resolve(parse_case(f"{path}@{backend}"))
    job = registry.workload(case.workload).kinds["onnx"](**case.params)
    try:
        opened: Any = registry.backend(case.backend).open(lambda: job, case)
        with opened as session:
            session.step()
            found = session.outputs().ravel()
    except (AssayError, EndingError) as error:
        return f"refused: {str(error).splitlines()[0][:160]}"
    except Exception as error:
        return f"failed: {type(error).__name__}: {str(error).splitlines()[0][:60]}"
    assert job.train_batch
    with torch.no_grad():
        given = {key: torch.from_numpy(array) for key, array in job.train_batch[0].items()}
        outputs = tensors(model(**given))
    wanted = np.concatenate([one.numpy().ravel() for one in outputs])
    if found.size != wanted.size:
        return f"gives {found.size} values, torch {wanted.size}"
    apart = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    return "ok" if apart <= NEAR else f"is {apart:.1g} of the largest output apart"


if __name__ == "__main__":
    sys.exit(main())
