"""Graphs made by hand, of random constants."""

from __future__ import annotations

import numpy as np

from assay.native import ops
from assay.native.graph_builder import GraphBuilder


class Making:
    def __init__(self, *shape):
        self.random = np.random.default_rng(3)
        self.building = GraphBuilder()
        self.input = self.building.add_input("input", shape).value

    def constant(self, *shape):
        name = f"constant{len(self.building.constants)}"
        return self.building.constant(name, self.random.uniform(0.2, 1, shape))

    def add(self, op, *values):
        return self.building.add(f"{type(op).__name__}{len(self.building.nodes)}", op, *values)

    def conv(self, value, out, kernel=1, **more):
        into = self.building.shapes[value][0]
        weight = self.constant(out, into // more.get("groups", 1), kernel, kernel)
        return self.add(ops.ConvOp(weight, self.constant(out), **more), value)

    def norm(self, value):
        size = self.building.shapes[value][0]
        return self.add(ops.BatchNormOp(self.constant(size), self.constant(size)), value)

    def graph(self, *outputs):
        return self.building.graph("made", list(outputs))
