"""."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core import redaction
from assay.core.executor import CasePlace
from assay.core.records import Case, Environment, Procedure, Result
from assay.measure import process_env
from assay.measure.machine import environment


def blank(case: Case, procedure: Procedure, place: CasePlace) -> Result:
    """The result of a case before anything is known of it."""
    return Result(
        id=place.id,
        case=case,
        procedure=procedure,
        status="ok",
        started=datetime.now(UTC).isoformat(timespec="milliseconds"),
        environment=_environment(case, place.folder),
    )


def _environment(case: Case, folder: Path) -> Environment:
    """This machine, with the variables the worker gets on top of the user's own."""
    found = environment.here()
    given = redaction.safe_values(process_env.variables(case, folder))
    return msgspec.structs.replace(found, variables=found.variables | given)
