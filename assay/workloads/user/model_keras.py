"""The job of a user's Keras model: with the example in its file, or a batch from its shapes."""

from __future__ import annotations

import keras

from assay.core.sessions import Job
from assay.workloads.user.model import Bare, inputs_of, no_example, rows

EXAMPLES = ()
LIKE = 'numpy.zeros((32, 28, 28, 1), "float32")'


def job(bare: Bare) -> Job:
    """The backend makes a batch for a functional model; others need an example."""
    inputs = inputs_of(bare)
    has_inputs = inputs is None and getattr(bare.model, "inputs", None)
    if has_inputs or not isinstance(bare.model, keras.Model):  # the backend reports the latter
        return Job(model=bare.model)
    if inputs is None:
        raise no_example(bare)
    bare.model(inputs)  # builds it
    return Job(model=bare.model, train_batch=(inputs, None), items=rows(inputs), as_given=True)
