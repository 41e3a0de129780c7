"""Bare JAX models, as users have them."""

import jax
import jax.numpy as jnp


def pair(seed=0, units=6):
    """A function and its parameters; one of them is an integer, which is not trained."""
    keys = jax.random.split(jax.random.key(seed))
    params = {"w": jax.random.normal(keys[0], (4, units)), "times": jnp.int32(2)}

    def apply(params, x):
        return (x @ params["w"]) * params["times"]

    return apply, params


def example(batch_size):
    return jnp.ones((batch_size, 4))


def pure(x):
    return jnp.tanh(x) * 2


def linen():
    """With running averages and dropout."""
    from flax import linen

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x, train=False):
            x = linen.BatchNorm(use_running_average=not train)(linen.Dense(8)(x))
            return linen.Dense(3)(linen.Dropout(0.5, deterministic=not train)(x))

    return Net()


def nnx(rngs):
    from flax import nnx

    return nnx.Sequential(
        nnx.Linear(4, 8, rngs=rngs), nnx.BatchNorm(8, rngs=rngs), nnx.Linear(8, 3, rngs=rngs)
    )


def equinox(key):
    import equinox

    return equinox.nn.MLP(4, 3, 8, 2, key=key)


def neither():
    return 7
