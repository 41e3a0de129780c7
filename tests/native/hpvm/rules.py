"""HPVM's rules for approximated convolutions in torch, written from their description alone.

Sampling: a filter of an output channel is flattened, channels before rows before columns. If its
window has a multiple of s elements, channel c drops those of its window whose index is o + c modulo
s; else the filter drops those from o on, every s-th. The others are multiplied by s / (s - 1).
Perforation: of the rows or columns of the result, every s-th from o on is not computed; it is the
mean of its neighbours, or at a border a copy of its only one. Bias and activation come after it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from assay.native import reference
from assay.native.graph import Array, Graph
from assay.native.knobs.table import KNOBS
from assay.native.ops import ConvOp


def sampled(weight, every, offset):
    """The weight (out, in, height, width) with dropped elements as 0."""
    channels, size = weight.shape[1], weight.shape[2] * weight.shape[3]
    result = weight.reshape(len(weight), channels * size).copy()
    for channel in range(channels):
        for element in range(size):
            index = channel * size + element
            if size % every == 0:
                drop = element % every == (offset + channel) % every
            else:
                drop = index >= offset and (index - offset) % every == 0
            result[:, index] = 0 if drop else result[:, index] * np.float32(every / (every - 1))
    return result.reshape(weight.shape)


def perforated(image, axis, every, offset):
    """The result (item, channel, row, column) with every s-th line of an axis interpolated."""
    lines, result = image.shape[axis], image.clone()
    skipped = [line for line in range(offset, lines, every)]
    computed = [line for line in range(lines) if line not in skipped]
    if not computed:
        return image
    for line in skipped:
        if line == 0:
            value = image.select(axis, 1)
        elif line == lines - 1:
            value = image.select(axis, computed[-1])
        else:
            value = (image.select(axis, line - 1) + image.select(axis, line + 1)) / 2
        result.select(axis, line).copy_(value)
    return result


def convolution(image, op, weight, bias, knob, half=False):
    """A convolution under a knob; with `half`, an fp16 knob rounds inputs and result as well."""
    name, numbers = knob.name.removesuffix("_fp16"), [int(each) for each in knob.parameters]
    weight = sampled(weight, *numbers) if name == "samp" else weight
    top, left, bottom, right = op.pads
    image = torch.nn.functional.pad(torch.from_numpy(image), (left, right, top, bottom))
    weight = torch.from_numpy(weight)
    if knob.half:
        weight = weight.half().float()
        image = image.half().float() if half else image
    result = torch.nn.functional.conv2d(
        image, weight, stride=op.strides, dilation=op.dilations, groups=op.groups
    )
    if name == "perf":
        rows, columns, offset = numbers
        result = perforated(result, 2 if rows > 1 else 3, max(rows, columns), offset)
    if bias is not None:
        result = result + torch.from_numpy(bias)[:, None, None]
    result = result.half().float() if half and knob.half else result
    return result.numpy()


def outputs(graph: Graph, knobs: Mapping[str, int], images: Array, half: bool = False) -> Array:
    """Outputs of a captured graph whose convolutions have these knobs, by their nodes' names."""
    values = {graph.inputs[0].name: images}
    for node in graph.nodes:
        inputs = [values[name] for name in node.inputs]
        if isinstance(node.op, ConvOp):
            constants = graph.constants
            bias = constants[node.op.bias] if node.op.bias else None
            knob = KNOBS[knobs.get(node.name, 11)]
            weight = constants[node.op.weight]
            values[node.output] = convolution(inputs[0], node.op, weight, bias, knob, half)
        else:
            values[node.output] = reference.compute_node(node, inputs, graph.constants)
    return values[graph.outputs[0]]
