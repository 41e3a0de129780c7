from __future__ import annotations

import msgspec

from assay.commands.repro.view import recipe
from tests.commands.repro.test_setup import with_case


def test_a_users_file_is_copied_into_the_container():
    result = with_case(workload="my.py:net")

    assert 'COPY ["my.py", "./"]' in recipe(result, "assay run my.py:net")


def test_a_hidden_variable_is_not_written():
    here = msgspec.structs.replace(with_case().environment, variables={"TF_KEY": "(not stored)"})
    result = msgspec.structs.replace(with_case(), environment=here)

    assert "TF_KEY" not in recipe(result, "assay run a")
