"""PerfZero's flags, translated to assay's own benchmark runs."""

from __future__ import annotations

import json

import pytest

from assay.compat.perfzero.options import PerfZeroFlags, request
from assay.compat.perfzero.run import safe_flags
from assay.core.errors import AssayError


def test_all_25_flags_are_there():
    assert len(PerfZeroFlags.__struct_fields__) == 25


def test_a_tpu_is_told_to_the_class_and_a_version_id_to_its_workers():
    tpu = {"name": "n", "project": "p", "zone": "us-west1-b", "size": "v2-8", "version": "2"}

    def flags(parameters):
        return PerfZeroFlags(benchmark_methods=("a.B.c",), tpu_parameters=parameters)

    for more, started in (({}, False), ({"using_prestarted_tpu": "true"}, True)):
        given = json.dumps(tpu | {"version_id": "x"} | more)
        made = request(flags(given), "1h", "").tpu
        assert (made.version_id, made.started) == ("x", started)
    with pytest.raises(AssayError, match="not a valid value for a TPU"):
        request(flags(json.dumps(tpu | {"version_id": "a/b"})), "1h", "")

    running = json.dumps(tpu | {"using_prestarted_tpu": "true"})
    assert request(flags(running), "1h", "").setting.tpu == "n"


def test_passwords_in_flags_are_not_told():
    flags = {"git_repos": "https://me:hunter2@host/models.git", "trials": 3}

    safe = safe_flags(flags)

    assert "hunter2" not in str(safe["git_repos"])
    assert safe["trials"] == 3
