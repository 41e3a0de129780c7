"""A program's -c: which configuration of a file it takes, in which dialects, and what it keeps."""

from __future__ import annotations

import os
import shutil

import msgspec
import numpy as np
import pytest

from tests.native.built import compiled, program, write_data
from tests.native.test_emit import small

pytestmark = pytest.mark.real("compiler")

EXACT, OTHER = "conv fp32 1 tanh fp32 1", "conv perf 121 tanh fp32 1"
# Instead of assay: what it makes tells for which configuration it was called.
BUILDER = """\
#!/bin/sh
mkdir "$4"
printf '#!/bin/sh\\necho built for %s' "$2" > "$4/small"
chmod +x "$4/small"
"""


def text(*rows):
    parts = [f"+++++\nconf{n} 1 1 90 0\n1 gpu {row}\n-----\n" for n, row in enumerate(rows, 1)]
    return "0\n" + "".join(parts)


@pytest.fixture
def built(plain_tools, native_cache, tmp_path):
    """A program in a folder of its own, with two images and the line that it is said to have."""
    found = compiled(small(), plain_tools, native_cache)[1]
    for file in found.files:
        shutil.copy(file, tmp_path)
    write_data(tmp_path, np.zeros((2, 2, 6, 6)), [0, 0])
    (tmp_path / "small.lines").write_text("conv tanh\tconv\n")
    (tmp_path / "builder").write_text(BUILDER)
    (tmp_path / "builder").chmod(0o755)
    (tmp_path / "small.configs").mkdir()
    (tmp_path / "small.configs" / "build").write_text(str(tmp_path / "builder"))
    return msgspec.structs.replace(found, folder=tmp_path)


def ran(built, held, named=""):
    (built.folder / "confs.txt").write_bytes(held.encode())
    ended = program(built, built.folder, "-c", f"confs.txt{named}")
    return ended.returncode, (ended.stdout or ended.stderr).strip()


def test_the_only_one_that_is_not_exact_is_taken_and_among_several_the_one_named(built):
    status, said = ran(built, text(EXACT))
    assert (status, said.partition(",")[0]) == (0, "test: 2 images")
    assert ran(built, text(EXACT, OTHER)) == (0, "built for confs.txt:conf2")
    assert ran(built, text(OTHER)) == (
        0,
        "built for confs.txt:conf2",
    )  # the same is not built again

    several = text(EXACT, OTHER, *[OTHER.replace("1 tanh", f"{n} tanh") for n in (2, 3, 4)])
    assert ran(built, several) == (
        2,
        "error: confs.txt has 4 configurations that are not exact, conf2, conf3, conf4 and 1 more, "
        "and none is named: confs.txt:conf5 is one.",
    )
    assert ran(built, several, ":conf4") == (0, "built for confs.txt:conf4")
    status, said = ran(built, several, ":conf1")
    assert (status, said.partition(",")[0]) == (0, "test: 2 images")
    assert ran(built, several, ":conf9")[1].endswith("it has conf1, conf2, conf3 and 2 more.")


def test_every_dialect_of_a_file_is_read(built):
    plain = text(EXACT, OTHER)
    dialects = {
        "blank lines": plain.replace("\n", "\n\n"),
        "carriage returns": plain.replace("\n", "\r\n"),
        "tabs": plain.replace(" ", "\t"),
        "more header fields": plain.replace("90 0", "90 0 0.9 x"),
        "from 0": plain.replace("1 gpu", "0 gpu"),
        "no final newline": plain.rstrip("\n"),
        "no first line, a byte order mark": "\ufeff" + plain.partition("\n")[2],
    }
    for dialect, held in dialects.items():
        assert ran(built, held) == (0, "built for confs.txt:conf2"), dialect

    many = "".join(text(EXACT).replace("conf1", f"conf{n}")[2:] for n in range(1000))
    assert ran(built, many, ":conf999")[0] == 0
    status, said = ran(built, text(EXACT).replace("-----\n", ""))
    assert (status, said) == (2, "error: confs.txt, line 2: the configuration has no -----.")
    assert (
        ran(built, "0\n")[1] == "error: confs.txt holds no configuration: none begins with +++++."
    )


def test_programs_of_configurations_are_kept_in_bounds(built):
    kept = built.folder / "small.configs"
    for number in range(20):
        (kept / f"old{number}").mkdir()
        os.utime(kept / f"old{number}", (number, number))
    (kept / f".building-{2**22 + 1}").mkdir()  # of a process that cannot be
    (kept / f".building-{os.getpid()}").mkdir()

    ran(built, text(OTHER))

    left = {path.name for path in kept.iterdir()}
    old = {f"old{number}" for number in range(5, 20)}
    assert left >= {"build", f".building-{os.getpid()}", *old}
    assert len(left) == 2 + 16
