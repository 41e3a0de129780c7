"""Train a case by a recipe or its own method, then test it: one result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from assay.core import registry
from assay.core.case_text import CaseLike
from assay.core.codec import UNREADABLE
from assay.core.contracts import Trainable, TrainingBackend
from assay.core.errors import UsageError, unknown_name_error
from assay.core.files import user_path
from assay.core.options import Flag, Label, Seconds, StoreUrl, Tags, accept_old_keywords
from assay.core.progress import ProgressCallback, ignore
from assay.core.recipe import Recipe, Training
from assay.core.records import Case, Evaluation, Plan, Procedure, Result
from assay.core.settings import Home
from assay.core.units import as_integer, as_number, as_seconds
from assay.measure import plan
from assay.measure.machine.environment import safe_tags
from assay.measure.recorder import resume_cases, run_cases
from assay.workloads.accuracy import KERAS_MODEL_FILE
from assay.workloads.models.recipes import RECIPES

DAY = 86400.0


@accept_old_keywords(home="store")
def train(
    case: CaseLike,
    *,
    recipe: Annotated[
        str | Recipe,
        Flag("Recipe to train by; default: the network's own.", "NAME|FILE"),
    ] = "",
    epochs: Annotated[int, Flag("Number of epochs; default: the recipe's.", "N", min=0)] = 0,
    seed: Annotated[
        int | None, Flag("Seed of initial weights, order and augmentation.", "N")
    ] = None,
    save: Annotated[
        str | Path,
        Flag("Write the trained weights here: .npz, .h5, .weights.h5 or a folder.", "FILE"),
    ] = "",
    until: Annotated[
        float, Flag("Stop when the test accuracy reaches this.", "%", min=0, max=100)
    ] = 0.0,
    first: Annotated[int, Flag("Train on only the first N images.", "N", min=0)] = 0,
    timeout: Annotated[Seconds, Flag("Limit for the training.")] = "24h",
    label: Label = "",
    tags: Tags = None,
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> Result:
    """Train a case from scratch and test it; the weights are stored beside the result.

    A recipe is a known name or a file; default: the workload's own. Training may stop as soon as
    `until` percent of the test images are right. The weights also go to `save`.

    >>> result = assay.train("lenet@keras-tensorflow", save="lenet.npz")
    >>> assay.summarize(result).quantities["accuracy"]
    """
    plan = make_plan(
        case,
        recipe=recipe,
        epochs=epochs,
        seed=seed,
        save=save,
        until=until,
        first=first,
        timeout=timeout,
        label=label,
        tags=tags,
    )
    (reading,) = run_cases(plan, store, progress)
    return reading.result


def resume(run: str, home: Home = None, progress: ProgressCallback = ignore) -> Iterator[Result]:
    """Continue an interrupted training from its last checkpoint, in the same run."""
    return (reading.result for reading in resume_cases(run, "train", home, progress))


def make_plan(
    case: CaseLike,
    recipe: str | Recipe = "",
    epochs: int = 0,
    seed: int | None = None,
    save: str | Path = "",
    until: float = 0.0,
    first: int = 0,
    timeout: float | str = DAY,
    label: str = "",
    tags: Mapping[str, str] | None = None,
) -> Plan:
    """The plan of a training, checked."""
    epochs = as_integer(epochs, "epochs", 0)
    first = as_integer(first, "first", 0)
    until = as_number(until, "until", 0, 100)
    chosen = _case(case, seed)
    chosen_recipe = _recipe(chosen, recipe)
    if chosen_recipe is None and (epochs or until or first):
        raise UsageError(
            f"{chosen.workload} trains itself, with its own number of epochs and images.",
            hint="Leave out --epochs, --until and --first, or give --recipe too.",
        )
    cut = _check_cut(chosen_recipe, epochs, first) if chosen_recipe else ""
    if chosen_recipe and epochs:
        chosen_recipe = msgspec.structs.replace(chosen_recipe, epochs=epochs)
    training = Training(recipe=chosen_recipe, until=until, first=first, cut=cut, save=_place(save))
    return Plan(
        cases=(chosen,),
        procedure=Procedure(timeout=as_seconds(timeout, "timeout", "24h")),
        evaluation=Evaluation(),
        training=training,
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="train",
    )


def recipe_of(text: str) -> Recipe:
    """A known recipe by name, or one in a .toml or .json file."""
    if text in RECIPES:
        return RECIPES[text]
    path = user_path(text)
    if path.suffix not in {".toml", ".json"}:
        raise unknown_name_error("recipe", text, RECIPES)
    try:
        if path.suffix == ".toml":
            return msgspec.toml.decode(path.read_bytes(), type=Recipe)
        return msgspec.json.decode(path.read_bytes(), type=Recipe)
    except OSError as error:
        raise UsageError(
            f"The recipe {text} cannot be read ({error.strerror}).",
            hint=f"Give a file, or one of: {', '.join(RECIPES)}.",
        ) from None
    except UNREADABLE as error:
        raise UsageError(
            f"{text} is no recipe: {error}.", hint="docs/training.md says what is in one."
        ) from None


def export_weights(name: str, source: str | Path, target: str | Path) -> None:
    """Convert the weights of one of the ten networks between file formats, without a framework."""
    from assay.weights import files
    from assay.workloads.accuracy import AccuracyWorkload
    from assay.workloads.models import eval_data

    workload = registry.workload(name)
    if not isinstance(workload, AccuracyWorkload):
        raise UsageError(
            f"The layers of {name} are not known here.", hint="Train it, and save what comes out."
        )
    net = workload.net()
    arrays = eval_data.fit_weights(net, files.read(source, eval_data.weight_layers(net)))
    files.write(target, arrays, net.flattened_shapes())


def _check_cut(recipe: Recipe, epochs: int, first: int) -> str:
    """What is shortened of the recipe: such a training need not reach its accuracy."""
    few = f"{epochs} of {recipe.epochs} epochs" if 0 < epochs < recipe.epochs else ""
    return ", ".join(filter(None, (few, f"the first {first} images" if first else "")))


def _place(save: str | Path) -> str:
    """A path from the worker's point of view; KERAS_MODEL_FILE is known to the worker alone."""
    if not save or save == KERAS_MODEL_FILE:
        return str(save)
    from assay.weights import files

    files.check_path(save)
    return str(user_path(save).absolute())


def _case(case: CaseLike, seed: int | None) -> Case:
    parsed = plan.as_case(case)
    if parsed.backend == "?":
        raise UsageError(
            f"'{parsed.workload}' names no backend to train on.",
            hint=f"As in {parsed.workload}@keras-tensorflow.",
        )
    backend = registry.backend(parsed.backend)
    if not isinstance(backend, TrainingBackend):
        raise UsageError(
            f"{parsed.backend} cannot train by a recipe.",
            hint=f"These can: {', '.join(_check_trainable())}.",
        )
    params = {} if seed is None else {"seed": seed}
    return plan.resolve(
        msgspec.structs.replace(
            parsed,
            params=parsed.params | params,
            options={**backend.for_training, **parsed.options},
            key="",
        )
    )


def _check_trainable() -> list[str]:
    names = registry.names("backends")
    return [name for name in names if isinstance(registry.backend(name), TrainingBackend)]


def _recipe(case: Case, chosen: str | Recipe) -> Recipe | None:
    """The one asked for, or the workload's; None: it trains itself."""
    workload = registry.workload(case.workload)
    known = workload.recipe if isinstance(workload, Trainable) else None
    recipe = (recipe_of(chosen) if isinstance(chosen, str) else chosen) if chosen else known
    if recipe is None and not (isinstance(workload, Trainable) and workload.trains_itself):
        raise UsageError(
            f"{case.workload} has no recipe, and no method that trains it.",
            hint=f"Give --recipe FILE, or one of: {', '.join(RECIPES)}.",
        )
    return recipe
