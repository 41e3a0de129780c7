"""A `.pt2` file is loaded as data alone, unless the user trusts it."""

from __future__ import annotations

import logging
import os
import zipfile

import pytest

from assay.core import registry
from assay.core.errors import UsageError
from tests.exported import INPUTS, described, honest, hostile, replaced, rewritten

pytestmark = pytest.mark.real("torch")
WEIGHTS = "data/weights/model_weights_config.json"
CONSTANTS = "data/constants/model_constants_config.json"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return honest(tmp_path_factory.mktemp("programs") / "honest.pt2")


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """A hostile file, and what it leaves behind once it has run."""
    folder = tmp_path_factory.mktemp("hostile")
    return hostile(folder / "evil.pt2", folder / "ran"), folder / "ran"


@pytest.fixture
def quiet(monkeypatch):
    """torch's own warning of such a load has one placeholder too many, which pytest raises."""
    logger = logging.getLogger("torch._export.serde.serialize")
    monkeypatch.setattr(logger, "disabled", True)


def job(file, trust=False):
    workload = registry.workload(str(file))
    return (workload.trusted() if trust else workload).kinds["torch"](batch_size=2, seed=0)


def test_an_honest_file_needs_no_trust(program):
    import torch

    model = job(program).model

    assert tuple(model(torch.ones(3, 4)).shape) == (3, 2)


def test_a_hostile_file_is_refused_by_name_reason_and_flag(marked):
    file, ran = marked

    with pytest.raises(
        UsageError, match=r"evil\.pt2 is not loaded, .*: it holds \S*eval"
    ) as refused:
        job(file)

    assert refused.value.hint == (
        "If you trust whoever made it, add --trust (in Python: trust=True)."
    )
    assert not ran.exists()


@pytest.mark.parametrize("value", ["1", "true"])
def test_no_variable_of_torch_undoes_it(marked, monkeypatch, value):
    file, ran = marked
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", value)

    with pytest.raises(UsageError, match="is not loaded"):
        job(file)

    assert not ran.exists()
    assert os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] == value
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ


@pytest.mark.usefixtures("quiet")
def test_a_file_that_needs_code_is_loaded_with_trust(marked):
    import torch

    file, ran = marked

    assert tuple(job(file, trust=True).model(torch.ones(2, 4)).shape) == (2, 2)

    assert ran.read_text() == "x"
    ran.unlink()


@pytest.mark.usefixtures("quiet")
def test_inputs_with_an_attribute_of_another_class_need_trust(tmp_path):
    import fractions

    import torch

    x = torch.rand(2, 4)
    x.scale = fractions.Fraction(1, 2)
    program = torch.export.export(torch.nn.Linear(4, 2), (x,))
    torch.export.save(program, tmp_path / "scaled.pt2")

    with pytest.raises(UsageError, match=r"it holds fractions\.Fraction"):
        job(tmp_path / "scaled.pt2")

    assert job(tmp_path / "scaled.pt2", trust=True).items == 2


def test_without_example_inputs_the_message_is_that_of_before(program, tmp_path):
    file = rewritten(program, tmp_path / "bare.pt2", {INPUTS: lambda _: b""})

    with pytest.raises(UsageError, match="was saved without the inputs it was exported with"):
        job(file)


CALL = "x=__import__('os').system('true')"
UNSAFE = {
    "a name that becomes source": (replaced("linear", f"a;{CALL}"), "a name that is none"),
    "an operator that is none": (
        replaced("torch.ops.aten.linear.default", "torch.os.system"),
        "calls 'torch.os.system'",
    ),
    "an attribute of an operator": (
        replaced("torch.ops.aten.linear.default", "torch.ops.aten.linear.__class__"),
        "no operator of this torch",
    ),
    "an operator that opens files": (
        replaced("torch.ops.aten.linear.default", "torch.ops.aten.from_file.default"),
        "which opens files",
    ),
    "an operator that writes files": (
        replaced("torch.ops.aten.linear.default", "torch.ops.aten.save.default"),
        "which opens files|no operator",
    ),
    "a function of operator": (
        replaced("torch.ops.aten.linear.default", "_operator.methodcaller"),
        "which is no operator of torch",
    ),
    "a guard": (
        described(lambda one: one.update(guards_code=["__import__('os').system('true')"])),
        "more than sizes",
    ),
    "a guard that leaves its text": (
        described(lambda one: one.update(guards_code=["L['a\"+b'].size()[0] == 1"])),
        "more than sizes",
    ),
    "an enumeration that is imported": (
        described(
            lambda one: one["graph_module"]["module_call_graph"][0]["signature"].update(
                in_spec='[1, {"type": "builtins.tuple", "context": '
                '"{\\"__enum__\\": true, \\"fqn\\": \\"antigravity:X\\", \\"name\\": \\"A\\"}", '
                '"children_spec": []}]'
            )
        ),
        "inputs or outputs need",
    ),
    "a default factory": (
        described(
            lambda one: one["graph_module"]["module_call_graph"][0]["signature"].update(
                out_spec='[1, {"type": "collections.defaultdict", "context": {'
                '"default_factory_module": "os", "default_factory_name": "getpid", '
                '"dict_context": []}, "children_spec": []}]'
            )
        ),
        "inputs or outputs are in",
    ),
    "an unknown field": (
        described(lambda one: one.update(hook="print(1)")),
        "a name that is none",
    ),
    "a comment that ends": (
        described(
            lambda one: one["graph_module"]["graph"]["nodes"][0]["metadata"].update(
                stack_trace="a\rimport os"
            )
        ),
        "control characters",
    ),
    "a custom object": (
        described(
            lambda one: one["graph_module"]["signature"]["input_specs"].append(
                {"custom_obj": {"arg": {"name": "a", "class_fqn": "b"}, "custom_obj_name": "c"}}
            )
        ),
        "custom class",
    ),
    "a compiled library": ({"data/aotinductor/model/a.so": lambda _: b""}, "a compiled library"),
    "a member not known": ({"data/constants/custom_obj_0": lambda _: b""}, "more than data"),
    "an opaque object": ({"data/constants/opaque_obj_0": lambda _: b""}, "more than data"),
    "another model": ({"models/other.json": lambda _: b'{"a": "b()"}'}, "a name that is none"),
    "pickled weights": (
        {WEIGHTS: lambda data: data.replace(b'"use_pickle": false', b'"use_pickle": true')},
        "no plain tensor",
    ),
    "a constant of another sort": (
        {
            CONSTANTS: lambda _: (
                b'{"config": {"a": {"path_name": "opaque_obj_0", "use_pickle": false}}}'
            )
        },
        "no plain tensor",
    ),
    "a pickle that is no archive": ({INPUTS: lambda _: b"\x80\x02K\x00."}, "can run code"),
    "an archive behind a pickle": ({INPUTS: lambda data: b"\x80\x02K\x00." + data}, "can run code"),
    "old weights": ({"data/weights/model.pt": lambda _: b"\x80\x02K\x00."}, "can run code"),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_whatever_could_run_is_refused(program, tmp_path, name):
    changes, reason = UNSAFE[name]
    file = rewritten(program, tmp_path / "changed.pt2", changes)

    with pytest.raises(UsageError, match=reason) as refused:
        job(file)

    assert "is not loaded" in str(refused.value) and "--trust" in refused.value.hint


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "eval('s0')",
        "Max(1, '__import__(chr(111)+chr(115))')",
        "(lambda: 1)()",
        "s0.__class__",
        "[s0 for s0 in (1, 2)]",
        "Symbol('s0', cls='a b')",
        "s0 # '",
    ],
)
def test_an_expression_is_arithmetic_of_sizes(expression):
    from assay.workloads.user._program_text import RefusedError, check_description

    with pytest.raises(RefusedError, match="more than sizes"):
        check_description({"sizes": [{"as_expr": {"expr_str": expression}}]})


@pytest.mark.parametrize(
    "expression",
    [
        "s0",
        "2*s0 + 1",
        "FloorDiv(s0, 2)",
        "Max(1, s0)",
        "Mul(Integer(2), Symbol('s27', positive=True, integer=True))",
        "Float('0.5', precision=53)",
    ],
)
def test_expressions_of_any_torch_are_taken(expression):
    from assay.workloads.user._program_text import check_description

    assert check_description({"sizes": [{"as_expr": {"expr_str": expression}}]}) == set()


def test_a_member_twice_is_refused(program, tmp_path):
    file = tmp_path / "twice.pt2"
    file.write_bytes(program.read_bytes())
    with zipfile.ZipFile(file) as archive:
        name = next(one for one in archive.namelist() if one.endswith(INPUTS))
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(name, b"")

    with pytest.raises(UsageError, match="two of its members have one name"):
        job(file)


def test_networks_with_many_operators_need_no_trust(tmp_path):
    """Attention, control flow, keywords, several outputs and sizes that depend on another."""
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
            self.table = torch.nn.Embedding(10, 8)
            self.scale = torch.arange(8.0)

        def forward(self, x, ids, *, mask):
            y = x + self.table(ids) * self.scale
            y, _ = self.attention(y, y, y)
            y = torch.einsum("bsh,bth->bst", y, y) * mask
            with torch.no_grad():
                z = torch.cat([y, y], 1)[:, : y.shape[1] + 1]
            w = torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))
            return {"out": y, "rest": [z, w]}

    size, length = torch.export.Dim("size", min=2, max=64), torch.export.Dim("length", min=2)
    program = torch.export.export(
        Net().eval(),
        (torch.rand(4, 6, 8), torch.zeros(4, 6, dtype=torch.long)),
        {"mask": torch.ones(4, 6, 6)},
        dynamic_shapes={
            "x": {0: size, 1: length},
            "ids": {0: size, 1: length},
            "mask": {0: size, 1: length, 2: length},
        },
    )
    torch.export.save(program, tmp_path / "net.pt2")

    workload = registry.workload(str(tmp_path / "net.pt2"))
    made = workload.kinds["torch"](**{**workload.params, "batch_size": 3})

    assert made.items == 3
