"""What shows that contenders do the same work: counts, dtypes, weights, a sample of the outputs."""

from __future__ import annotations

from typing import Any

from assay.core import fingerprint, messages
from assay.core.records import Value
from assay.core.sessions import (
    CountedByFramework,
    CountedByModel,
    Job,
    Session,
    WithOutputs,
    WithProductDtypes,
    WithSampledOutputs,
    WithWeights,
)


def evidence(session: Session, job: Job, order: messages.Open) -> dict[str, Value]:
    """What shows that contenders do the same work, as far as the session can tell.

    Multiply-adds are those of one item's forward pass: from the model, and by the framework's
    counter. Outputs and weights are those before the first step.
    """
    found: dict[str, Value] = {"multiply_adds": job.multiply_adds} if job.multiply_adds else {}
    return found | (_counts(session, job) if order.counts else {}) | _digests(session, order)


def _counts(session: Session, job: Job) -> dict[str, Value]:
    found: dict[str, Value] = {}
    ask_model = not job.loops and not job.multiply_adds
    if ask_model and isinstance(session, CountedByModel) and (counted := session.multiply_adds()):
        found["multiply_adds"] = round(counted / session.items)
    if isinstance(session, CountedByFramework) and not job.loops and (counted := session.macs()):
        found["counted_multiply_adds"] = round(counted / session.items)
    if isinstance(session, WithProductDtypes):
        found["product_dtypes"] = session.product_dtypes()
    return found


def _digests(session: Session, order: messages.Open) -> dict[str, Value]:
    found: dict[str, Value] = {}
    if order.outputs and isinstance(session, WithWeights):
        found |= fingerprint.of_weights(session.weights())
    if order.outputs and isinstance(session, WithOutputs):
        found |= fingerprint.of_outputs(*sampled(session))
    return found


def sampled(session: WithOutputs) -> tuple[tuple[int, ...], Any]:
    if isinstance(session, WithSampledOutputs):
        return session.sampled_outputs()
    found = session.outputs()
    flat = found.ravel()
    return found.shape, flat[fingerprint.places(len(flat))]
