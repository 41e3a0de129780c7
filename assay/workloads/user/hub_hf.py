"""Models of transformers, from a folder with a configuration or from the local cache."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.nn import functional

from assay.core.errors import EndingError
from assay.core.records import Value
from assay.core.sessions import Job

_FILES = ("model.safetensors", "pytorch_model.bin")
_LOCAL = {"local_files_only": True, "trust_remote_code": False}  # code in a folder is not run
_WEIGHTS = (*_FILES, *(f"{name}.index.json" for name in _FILES))  # one file, or sharded


def job(name: str, params: Mapping[str, Value]) -> Job:
    config = _config(name)
    model, assumed_weights = _model(name, config)
    random = torch.Generator().manual_seed(int(params["seed"]))
    inputs = _inputs(name, config, params, random)
    loss, targets, assumed_loss = _loss(config, inputs, random)
    return Job(
        model=model,
        loss=loss,
        optimizer="adam",
        train_batch=(inputs, targets),
        items=int(params["batch_size"]),
        as_given=True,
        facts={"assumed": "; ".join(filter(None, (assumed_weights, assumed_loss)))},
    )


def _config(name: str) -> Any:
    folder = _folder(name).is_dir()
    try:
        return transformers.AutoConfig.from_pretrained(name, **_LOCAL)
    # errors of transformers, its hub and json for a name that is missing or no model
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        first = str(error).strip().partition("\n")[0]
        remedy = (
            "give a folder with the config.json of a model transformers knows"
            if folder
            else f"fetch it with: hf download {name}; or give a folder with its config.json"
        )
        raise EndingError("skipped", f"hf:{name} cannot be opened ({first}); {remedy}") from None


def _model(name: str, config: Any) -> tuple[Any, str]:
    """With local weights, else random ones; and a note of that."""
    kind = _class((config.architectures or [""])[0])
    config.use_cache = False  # a step is one forward pass over whole rows, not a generation
    if _has_weights(name):
        return kind.from_pretrained(name, config=config, **_LOCAL), ""
    if kind is transformers.AutoModel:
        network = kind.from_config(config, trust_remote_code=False)
    else:
        network = kind(config)
    return network, "its weights are random, as none are here"


def _class(name: str) -> Any:
    """The model class that a configuration names; other names are not called."""
    kind = getattr(transformers, name, None) if name else None
    model = isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)
    return kind if model else transformers.AutoModel


def _has_weights(name: str) -> bool:
    folder = _folder(name)
    if folder.is_dir():
        return any((folder / file).is_file() for file in _WEIGHTS)
    from huggingface_hub import try_to_load_from_cache

    return any(isinstance(try_to_load_from_cache(name, file), str) for file in _WEIGHTS)


def _folder(name: str) -> Path:
    return Path(os.path.expanduser(name))  # Path.expanduser raises for an unknown user


def _inputs(
    name: str,
    config: Any,
    params: Mapping[str, Value],
    random: torch.Generator,
) -> dict[str, torch.Tensor]:
    """Images for models that take them, tokens for models with a vocabulary."""
    size, length = int(params["batch_size"]), int(params["length"])
    if getattr(config, "image_size", None) and getattr(config, "num_channels", None):
        side = config.image_size
        rows, columns = side if isinstance(side, list | tuple) else (side, side)
        shape = (size, config.num_channels, rows, columns)
        return {"pixel_values": torch.rand(shape, generator=random) * 2 - 1}
    vocabulary = getattr(config, "vocab_size", 0)
    if not vocabulary:
        raise EndingError(
            "skipped",
            f"hf:{name} takes neither images nor tokens; build it in a file of your own, "
            "with an example: ./net.py:Net",
        )
    longest = getattr(config, "max_position_embeddings", 0) or length
    if length > longest:
        raise EndingError(
            "skipped", f"length is {length}, but the context of hf:{name} is {longest}"
        )
    tokens = torch.randint(0, vocabulary, (size, length), generator=random)
    both = {"decoder_input_ids": tokens} if getattr(config, "is_encoder_decoder", False) else {}
    return {"input_ids": tokens, **both}


def _loss(
    config: Any,
    inputs: Mapping[str, torch.Tensor],
    random: torch.Generator,
) -> tuple[str | Callable[[Any, Any], Any], Any, str]:
    """Of the next token, each token or the class, by the purpose of the model; else the mean."""
    purpose = (config.architectures or [""])[0] or ""
    if purpose.endswith(("ForCausalLM", "LMHeadModel")):
        return _next_token_loss, inputs["input_ids"], ""
    if purpose.endswith("ForMaskedLM"):
        return _class_loss, inputs["input_ids"], ""
    if purpose.endswith("Classification") and "Token" not in purpose:
        rows = len(next(iter(inputs.values())))
        return _class_loss, torch.randint(0, config.num_labels, (rows,), generator=random), ""
    return "mean", (), "its loss is the mean of the outputs"


def _next_token_loss(outputs: Any, tokens: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(outputs.logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def _class_loss(outputs: Any, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(outputs.logits.flatten(0, -2), labels.flatten())
