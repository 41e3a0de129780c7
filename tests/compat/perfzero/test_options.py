"""PerfZero's flags, translated to assay's own benchmark runs."""

from __future__ import annotations

import json

import pytest

from assay.compat.perfzero.options import FLAGS, request
from assay.core.errors import AssayError


def test_all_25_flags_are_there():
    assert len(FLAGS) == 25


def test_a_tpu_is_told_to_the_class_and_a_version_id_to_its_workers():
    tpu = {"name": "n", "project": "p", "zone": "us-west1-b", "size": "v2-8", "version": "2"}
    flags = {name: flag.default for name, flag in FLAGS.items()} | {"benchmark_methods": ("a.B.c",)}

    for more, started in (({}, False), ({"using_prestarted_tpu": "true"}, True)):
        given = json.dumps(tpu | {"version_id": "x"} | more)
        made = request(flags | {"tpu_parameters": given}, "1h", "").tpu
        assert (made.version_id, made.started) == ("x", started)
    with pytest.raises(AssayError, match="not a valid value for a TPU"):
        request(flags | {"tpu_parameters": json.dumps(tpu | {"version_id": "a/b"})}, "1h", "")

    running = json.dumps(tpu | {"using_prestarted_tpu": "true"})
    assert request(flags | {"tpu_parameters": running}, "1h", "").setting.tpu == "n"
