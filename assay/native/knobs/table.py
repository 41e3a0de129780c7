"""The table of knobs: approximations that compute a layer with less work.

Ids up to 269 are HPVM's, except 13, 14 and 51 to 53; those and all from 321 on are ours.
HPVM's ids compute HPVM's rules; what is corrected on calibration items has ids of its own.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.errors import UsageError
from assay.native.graph import Graph, Node
from assay.native.ops import ConvOp, DenseOp, GlobalPoolOp, Op, PoolOp

# the first id of each family that HPVM does not have
OURS = frozenset({13, 14, 51, 321, 431, 531, 561})
Kind = Literal["conv", "dense", "reduce", "any"]
BASELINE, HALF = 11, 12
TAPS = 4  # of a row of a depthwise window over bytes: ByteDepthwise's


class Knob(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str  # the word of a config line
    kind: Kind  # what it applies to
    parameters: tuple[float, ...] = ()
    int8: bool = False
    half: bool = False  # weights rounded to float16
    runs: Literal["yes", "emulated", "simulated"] = "yes"  # on a CPU
    summary: str = ""

    @property
    def uses_calibration(self) -> bool:
        """Whether it uses calibration items."""
        return self.needs_calibration or self.name == "low_rank"

    @property
    def needs_calibration(self) -> bool:
        """Whether it requires calibration items."""
        return self.int8 or self.corrected or self.name == "swing_level"

    @property
    def corrected(self) -> bool:
        """Whether the remaining weights of a sampling are corrected by least squares."""
        return self.name in ("samp_int8", "samp_correct", "samp_correct_fp16")


_EMULATED = "a CPU has no float16 products: weights are rounded to float16, and computed as float32"


def _perforations(first: int, name: str, **kwargs: bool) -> list[Knob]:
    """Columns then rows, 1 of 2, 3 and 4, with every offset."""
    knobs = []
    number = first
    for every in (2, 3, 4):
        for rows, columns in ((1, every), (every, 1)):
            for offset in range(every):
                skipped = f"1 of {every} {'rows' if rows > 1 else 'columns'} from {offset} on"
                knobs.append(
                    Knob(
                        id=number,
                        name=name,
                        kind="conv",
                        parameters=(rows, columns, offset),
                        runs="emulated" if kwargs.get("half") else "yes",
                        summary=f"{skipped} interpolated",
                        **kwargs,
                    )
                )
                number += 1
    return knobs


CORRECTION = 300  # from the id of HPVM's sampling to that of the corrected one


def corrected_id(number: int) -> int:
    """The id of a sampling with corrected weights; other knobs keep theirs."""
    return number + CORRECTION if knob(number).name in ("samp", "samp_fp16") else number


def _samplings(first: int, name: str, **kwargs: bool) -> list[Knob]:
    pairs = [(every, offset) for every in (2, 3, 4) for offset in range(every)]
    others = ", the others corrected by least squares" if first > 400 else ""
    return [
        Knob(
            id=first + number,
            name=name,
            kind="conv",
            parameters=(every, offset),
            runs="emulated" if kwargs.get("half") else "yes",
            summary=f"1 of {every} terms of each filter left out, from {offset} on{others}",
            **kwargs,
        )
        for number, (every, offset) in enumerate(pairs)
    ]


def _reductions() -> list[Knob]:
    return [
        Knob(
            id=41 + number,
            name="red_samp",
            kind="reduce",
            parameters=(share,),
            half=bool(number % 2),
            runs="simulated",
            summary=f"{share:.0%} of what a mean is over left out",
        )
        for number, share in enumerate((0.5, 0.5, 0.4, 0.4, 0.25, 0.25))
    ]


def _promise() -> list[Knob]:
    return [
        Knob(
            id=level,
            name="swing_level",
            kind="any",
            parameters=(level,),
            runs="simulated",
            summary="the PROMISE accelerator's noise at this voltage swing",
        )
        for level in range(1, 8)
    ]


_OURS = (
    Knob(id=13, name="int8", kind="any", int8=True, summary="weights and inputs as bytes"),
    Knob(id=14, name="weight_int8", kind="dense", summary="weights as bytes, inputs float32"),
    *(
        Knob(
            id=50 + number,
            name="low_rank",
            kind="any",
            parameters=(share,),
            summary=f"the product of two matrices of {share:g} of the rank",
        )
        for number, share in enumerate((0.5, 0.25, 0.125), 1)
    ),
)

KNOBS: dict[int, Knob] = {
    knob.id: knob
    for knob in (
        Knob(id=BASELINE, name="fp32", kind="any", summary="as it is"),
        Knob(id=HALF, name="fp16", kind="any", half=True, runs="emulated", summary=_EMULATED),
        *_OURS,
        *_promise(),
        *_reductions(),
        *_perforations(121, "perf"),
        *_perforations(151, "perf_fp16", half=True),
        *_samplings(231, "samp"),
        *_samplings(261, "samp_fp16", half=True),
        *_perforations(321, "perf_int8", int8=True),
        *_samplings(431, "samp_int8", int8=True),
        *_samplings(531, "samp_correct"),
        *_samplings(561, "samp_correct_fp16", half=True),
    )
}


def knob(number: int) -> Knob:
    if number not in KNOBS:
        raise UsageError(
            f"There is no knob {number}.",
            hint="There are "
            + ", ".join(f"{name} ({ids})" for name, ids in _families().items())
            + ".",
        )
    return KNOBS[number]


def _families() -> dict[str, str]:
    ids: dict[str, list[int]] = {}
    for member in KNOBS.values():
        ids.setdefault(member.name, []).append(member.id)
    return {n: f"{min(i)}-{max(i)}" if len(i) > 1 else str(i[0]) for n, i in ids.items()}


def why_not(choice: Knob, node: Node, graph: Graph) -> str:
    """Why a knob does not apply to a node of an optimized graph; "" where it does."""
    op = node.op
    if choice.id in (BASELINE, HALF):
        return ""
    if choice.kind == "reduce":
        return _why_not_pool(op)
    if choice.name == "swing_level":
        return "" if _is_linear(node) else f"it is no {_layer_kinds(choice)}"
    if isinstance(op, ConvOp) and op.groups == 1 and choice.kind in ("conv", "any"):
        window = graph.constants[op.weight].shape[2:]
        return "" if choice.name != "low_rank" or window == (1, 1) else "its window is not 1 by 1"
    if isinstance(op, DenseOp) and choice.kind in ("dense", "any"):
        return "" if not choice.int8 or len(node.shape) < 3 else "its input has too many axes"
    if isinstance(op, ConvOp) and choice.kind != "dense":
        return _why_not_groups(choice, op, graph.constants[op.weight].shape)
    return f"it is no {_layer_kinds(choice)}"


def _why_not_groups(choice: Knob, op: ConvOp, weight: tuple[int, ...]) -> str:
    """Of grouped convolutions only depthwise int8 is implemented."""
    if weight[:2] != (op.groups, 1):
        return "it is a grouped convolution"
    if choice.name != "int8":
        return "it is a depthwise convolution, which has int8 alone"
    too_wide = weight[3] > TAPS or op.dilations[1] > 1
    return f"a row of its window is longer than {TAPS} taps" if too_wide else ""


def available_knobs(node: Node, graph: Graph) -> tuple[int, ...]:
    """The knobs of a node that are neither emulated nor simulated here."""
    if not _is_linear(node):
        return (BASELINE,)
    knobs = sorted(KNOBS.values(), key=lambda choice: choice.id)
    return tuple(
        choice.id for choice in knobs if choice.runs == "yes" and not why_not(choice, node, graph)
    )


def _is_linear(node: Node) -> bool:
    return isinstance(node.op, ConvOp | DenseOp)


def _why_not_pool(op: Op) -> str:
    if not isinstance(op, GlobalPoolOp | PoolOp) or op.kind != "average":
        return "it takes no mean over windows"
    padded = isinstance(op, PoolOp) and any(op.pads)
    return "its windows go beyond the image" if padded else ""


def _layer_kinds(choice: Knob) -> str:
    names = {"conv": "convolution", "dense": "dense layer", "any": "convolution or dense layer"}
    return names.get(choice.kind, choice.kind)
