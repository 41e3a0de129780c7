"""A user's Keras model: with the example its file names, or with a batch made from its inputs."""

from __future__ import annotations

import keras

from assay.core.sessions import Job
from assay.workloads.user.model import Bare, inputs_of, no_example, rows

EXAMPLES = ()
LIKE = 'numpy.zeros((32, 28, 28, 1), "float32")'


def job(bare: Bare) -> Job:
    """A functional model tells its inputs, of which a backend makes a batch; others need one."""
    inputs = inputs_of(bare)
    told = inputs is None and getattr(bare.made, "inputs", None)
    if told or not isinstance(bare.made, keras.Model):  # of which the backend has a sentence
        return Job(model=bare.made)
    if inputs is None:
        raise no_example(bare)
    bare.made(inputs)  # builds it
    return Job(model=bare.made, train_batch=(inputs, None), items=rows(inputs), as_given=True)
