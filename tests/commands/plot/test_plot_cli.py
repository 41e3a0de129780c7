"""assay plot: a figure where it was asked for, and nothing where it cannot be drawn."""

from __future__ import annotations

import pytest


@pytest.mark.real("matplotlib")
def test_the_file_is_written_and_said(assay, kept, tmp_path):
    figure = tmp_path / "samples.svg"

    status, out, error = assay("plot", kept, "-o", str(figure))

    assert (status, out, error) == (0, "", f"written to {figure}\n")
    assert f"({kept}/001) -->" in figure.read_text()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("last",), "Missing option '-o'"),
        (("last", "-o", "nowhere/p.png"), "The folder nowhere does not exist"),
        (("last", "-o", "p.txt"), "p.txt"),
        (("last", "--series", "speed", "-o", "p.png"), "series is 'speed', but has to be one of"),
        (("nothing", "-o", "p.png"), "no run named 'nothing'"),
        (("last/2", "-o", "p.png"), "no result named 'last/2'"),
    ],
)
@pytest.mark.usefixtures("kept")
def test_what_cannot_be_drawn_is_one_sentence(assay, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)

    status, out, error = assay("plot", *words)

    assert (status, out) == (2, "")
    assert complaint in error
    assert not list(tmp_path.glob("p.*"))
