"""The knobs there are: ways to compute a layer with less work and a little less exactly.

Ids up to 269 are HPVM's, with its meaning; 13 and 14, 51 to 53 and those from 321 on are ours.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.errors import UsageError
from assay.native.graph import Graph, Node
from assay.native.ops import ConvOp, DenseOp, GlobalPoolOp, Op, PoolOp

OURS = frozenset({13, 14, 51, 321, 431})  # the first id of each family that HPVM has not
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
    def calibrated(self) -> bool:
        """Ranges are found, or weights corrected, on items."""
        return self.ranged or self.name.startswith(("samp", "low_rank"))

    @property
    def ranged(self) -> bool:
        """It cannot do without items."""
        return self.int8 or self.name == "swing_level"


_EMULATED = "a CPU has no float16 products: weights are rounded to float16, and computed as float32"


def _perforations(first: int, name: str, **more: bool) -> list[Knob]:
    """Columns then rows, of one in 2, 3 and 4, with every offset."""
    found = []
    number = first
    for every in (2, 3, 4):
        for rows, columns in ((1, every), (every, 1)):
            for offset in range(every):
                what = f"1 of {every} {'rows' if rows > 1 else 'columns'} from {offset} on"
                found.append(
                    Knob(
                        id=number,
                        name=name,
                        kind="conv",
                        parameters=(rows, columns, offset),
                        runs="emulated" if more.get("half") else "yes",
                        summary=f"{what} interpolated",
                        **more,
                    )
                )
                number += 1
    return found


def _samplings(first: int, name: str, **more: bool) -> list[Knob]:
    pairs = [(every, offset) for every in (2, 3, 4) for offset in range(every)]
    return [
        Knob(
            id=first + number,
            name=name,
            kind="conv",
            parameters=(every, offset),
            runs="emulated" if more.get("half") else "yes",
            summary=f"1 of {every} terms of each filter left out, from {offset} on",
            **more,
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
    for each in KNOBS.values():
        ids.setdefault(each.name, []).append(each.id)
    return {n: f"{min(i)}-{max(i)}" if len(i) > 1 else str(i[0]) for n, i in ids.items()}


def why_not(each: Knob, node: Node, graph: Graph) -> str:
    """Why a knob does not apply to a node of an optimized graph; "" where it does."""
    op = node.op
    if each.id in (BASELINE, HALF):
        return ""
    if each.kind == "reduce":
        return _why_not_fewer(op)
    if each.name == "swing_level":
        return "" if _linear(node) else f"it is no {_wanted(each)}"
    if isinstance(op, ConvOp) and op.groups == 1 and each.kind in ("conv", "any"):
        window = graph.constants[op.weight].shape[2:]
        return "" if each.name != "low_rank" or window == (1, 1) else "its window is not 1 by 1"
    if isinstance(op, DenseOp) and each.kind in ("dense", "any"):
        return "" if not each.int8 or len(node.shape) < 3 else "its input has too many axes"
    if isinstance(op, ConvOp) and each.kind != "dense":
        return _why_not_grouped(each, op, graph.constants[op.weight].shape)
    return f"it is no {_wanted(each)}"


def _why_not_grouped(each: Knob, op: ConvOp, weight: tuple[int, ...]) -> str:
    """Bytes of a filter for each channel, whose rows are multiplied at once."""
    if weight[:2] != (op.groups, 1):
        return "it is a grouped convolution"
    if each.name != "int8":
        return "it is a depthwise convolution, which has int8 alone"
    wide = weight[3] > TAPS or op.dilations[1] > 1
    return f"a row of its window is longer than {TAPS} taps" if wide else ""


def offered(node: Node, graph: Graph) -> tuple[int, ...]:
    """The knobs of a node that this machine computes and not only emulates."""
    if not _linear(node):
        return (BASELINE,)
    known = sorted(KNOBS.values(), key=lambda each: each.id)
    return tuple(each.id for each in known if each.runs == "yes" and not why_not(each, node, graph))


def _linear(node: Node) -> bool:
    return isinstance(node.op, ConvOp | DenseOp)


def _why_not_fewer(op: Op) -> str:
    if not isinstance(op, GlobalPoolOp | PoolOp) or op.kind != "average":
        return "it takes no mean over windows"
    padded = isinstance(op, PoolOp) and any(op.pads)
    return "its windows go beyond the picture" if padded else ""


def _wanted(each: Knob) -> str:
    names = {"conv": "convolution", "dense": "dense layer", "any": "convolution or dense layer"}
    return names.get(each.kind, each.kind)
