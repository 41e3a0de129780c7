"""Every command takes what it took at f7cfc39; it may take more."""

import pytest

from tests.frozen import help as frozen

RECORDED = frozen.recorded()
# arguments: `list` lists runs when nothing is named; perfzero-setup takes several NAME=VALUE
CHANGED = {"assay list", "assay perfzero-setup"}
# options whose default has changed: that of the old tool's last version
DEFAULTS = {("assay vgg16", "--data_format"): "NCHW"}


@pytest.fixture(scope="module")
def now():
    return frozen.record()


def faces(options):
    return {flags: option["face"] for flags, option in options.items()}


def arguments(command):
    return [part["face"] for part in command.get("arguments", ())]


@pytest.mark.parametrize("words", RECORDED)
def test_a_command_takes_what_it_took(now, words):
    before, after = RECORDED[words], now[words]
    options = faces(after["options"])
    recorded = faces(before["options"])
    for (command, flags), value in DEFAULTS.items():
        if command == words:
            recorded[flags] |= {"default": value, "shown_default": value}

    assert without_commands(after) == without_commands(before)
    assert set(before["face"].get("commands", ())) <= set(after["face"].get("commands", ()))
    assert {flags: options[flags] for flags in recorded} == recorded
    assert arguments(after) == arguments(before) or words in CHANGED


def without_commands(command):
    return {name: value for name, value in command["face"].items() if name != "commands"}


def test_the_record_has_what_it_is_to_hold():
    """A recorder that sees nothing would compare equal for ever."""
    run = RECORDED["assay run"]["options"]
    limit = RECORDED["assay list"]["options"]["--limit"]["face"]

    assert run["-b --backend"]["face"]["multiple"] and run["-b --backend"]["face"]["completion"]
    assert run["--latency"]["face"]["is_flag"]
    assert run["--budget"]["face"]["default"] == "10s"
    assert run["--home --store"]["inside"]["callback"]
    assert (limit["type"]["min"], limit["shown_range"], limit["default"]) == (0, "x>=0", 50)
    assert "bench" in RECORDED["assay"]["face"]["commands"]
