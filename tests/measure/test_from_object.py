"""Models that are objects of this session run in fresh processes."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.core.case_text import parse_case
from assay.core.errors import UsageError
from assay.core.registry import backend, workload
from assay.measure import plan
from assay.measure.from_object import case_from_object
from assay.workloads.user.pickled import from_live_file

QUICK = {"samples": 1, "budget": 0.1, "steps_per_sample": 1}
TORCH = pytest.mark.real("torch", "cloudpickle")


def taken(**given):
    (result,) = assay.run(**QUICK, **given)
    assert result.status == "ok", result.reason
    return result


@TORCH
def test_a_module_of_a_class_that_no_file_holds(home):
    import torch

    class Scaled(torch.nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.inner, self.factor = torch.nn.Linear(4, 3), factor

        def forward(self, x):
            return self.factor * self.inner(x)

    net, rows = Scaled(2.0), torch.rand(5, 4)
    wanted = net(rows).detach().numpy()
    result = taken(model=net, example=rows, loss=lambda out, x: out.square().mean())

    assert result.case.workload.startswith(str(home / "models" / "Scaled-"))
    assert (result.items, result.case.backend) == (5, "torch")
    assert result.facts["outputs_norm"] == pytest.approx(np.linalg.norm(wanted), rel=1e-5)
    assert result.facts.get("assumed", "") == ""


@pytest.mark.real("jax", "cloudpickle")
def test_a_pair_of_jax(home):
    import jax.numpy as jnp

    params = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}
    result = taken(
        model=(lambda params, x: x @ params["w"] + params["b"], params),
        example=lambda rows: np.ones((rows, 4), np.float32),
        params={"batch_size": 3},
    )

    assert (result.case.backend, result.items) == ("jax", 3)
    assert result.facts["outputs_largest"] == 4.0


@pytest.mark.real("keras", "jax")
def test_a_keras_model_goes_as_keras_saves_it(keras, home):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    case = case_from_object(model, store=home)

    assert Path(case.workload).suffix == ".keras" and Path(case.workload).parent == home / "models"
    assert "keras" in workload(case.workload).kinds
    with pytest.raises(UsageError, match="example was given with a Keras model"):
        case_from_object(model, example=np.ones((2, 4)), store=home)


@TORCH
def test_the_same_model_is_the_same_file_and_others_are_others(home):
    import torch

    net, rows = torch.nn.Linear(4, 3), torch.rand(5, 4)
    first, again = case_from_object(net, rows, store=home), case_from_object(net, rows, store=home)
    with torch.no_grad():
        net.weight.zero_()

    assert first.workload == again.workload != case_from_object(net, rows, store=home).workload
    assert workload(first.workload).params == {"batch_size": 0, "seed": 0}


@TORCH
def test_what_cannot_travel_is_refused_with_what_to_write(home):
    import torch

    net = torch.nn.Linear(4, 3)
    net.lock = threading.Lock()
    with pytest.raises(UsageError, match="Linear cannot be pickled for a fresh process") as caught:
        case_from_object(net, torch.rand(1, 4), store=home)
    assert "FILE.py:NAME" in caught.value.hint


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (42, "An object of the class int is no model"),
        (dict, "A class is no model"),
        ((lambda params, x: x, {}), "was given without an example"),
    ],
)
def test_what_is_no_model_or_lacks_an_example_is_refused(model, said):
    with pytest.raises(UsageError, match=said):
        case_from_object(model)


def test_an_example_alone_is_refused():
    with pytest.raises(UsageError, match="example was given without a model"):
        assay.run("mnist-mlp", example=1)


@pytest.mark.parametrize("held", [b"", b"{}\n", b"\x80\x04\n", b'{"name": 3}\n'])
def test_a_file_that_is_none_is_refused(tmp_path, held):
    path = tmp_path / "net.live"
    path.write_bytes(held)
    with pytest.raises(UsageError, match="was not written by assay, or is damaged"):
        from_live_file(str(path))


@TORCH
def test_a_file_cut_short_is_refused_where_it_is_loaded(home):
    import torch

    path = Path(case_from_object(torch.nn.Linear(4, 3), torch.rand(5, 4), store=home).workload)
    path.write_bytes(path.read_bytes()[:-200])
    found = from_live_file(str(path))
    with pytest.raises(UsageError, match="is damaged"):
        found.kinds["torch"](**found.params)


def test_a_file_that_is_gone_is_said(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        from_live_file(str(tmp_path / "net.live"))


def linen():
    from flax import linen

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x):
            return linen.Dense(3)(x)

    return Net()


def nnx():
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.inner = nnx.Linear(4, 3, rngs=rngs)

        def __call__(self, x):
            return self.inner(x)

    return Net(nnx.Rngs(0))


def equinox():
    import equinox
    import jax

    return equinox.nn.MLP(4, 3, 8, 2, key=jax.random.key(0))


def tf_module():
    import tensorflow as tf

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.inner = tf.Variable(tf.ones((4, 3)))

        def __call__(self, x):
            return x @ self.inner

    return Net()


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        pytest.param(linen, "jax", marks=pytest.mark.real("jax", "flax", "cloudpickle")),
        pytest.param(nnx, "jax", marks=pytest.mark.real("jax", "flax", "cloudpickle")),
        pytest.param(equinox, "jax", marks=pytest.mark.real("jax", "equinox", "cloudpickle")),
        pytest.param(tf_module, "tensorflow", marks=pytest.mark.real("tensorflow", "cloudpickle")),
    ],
)
def test_modules_of_flax_equinox_and_tensorflow_travel_and_train(make, kind, home):
    rows = np.ones((2, 4), np.float32)
    path = case_from_object(make(), rows, store=home).workload
    case = plan.resolve(parse_case(f"{path}@{kind}"))
    job = workload(path).kinds[kind](**case.params)  # as a worker builds it

    with backend(kind).open(lambda: job, case) as session:
        before = session.outputs()
        session.step()
        session.wait()
        assert before.shape == (2, 3) and np.isfinite(before).all()
        assert not np.array_equal(before, session.outputs())


def test_an_object_is_not_sent_to_a_cluster():
    with pytest.raises(UsageError, match="cannot go to a cluster: its file is here") as caught:
        assay.run(model=dict, on="ray://somewhere:10001")
    assert "./net.py:Net" in caught.value.hint
