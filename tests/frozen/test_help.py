"""Every command takes what it took at f7cfc39; the order of options may change."""

import pytest

from tests.frozen import help as frozen

RECORDED = frozen.recorded()


@pytest.fixture(scope="module")
def now():
    return frozen.record()


def faces(options):
    return {flags: option["face"] for flags, option in options.items()}


def arguments(command):
    return [part["face"] for part in command.get("arguments", ())]


def help_texts(command):
    return {flags: option.get("help", "") for flags, option in command["options"].items()}


def test_there_are_the_same_commands(now):
    assert sorted(now) == sorted(RECORDED)


@pytest.mark.parametrize("words", RECORDED)
def test_a_command_takes_the_same_options_and_arguments(now, words):
    before, after = RECORDED[words], now[words]

    assert after["face"] == before["face"]
    assert sorted(after["options"]) == sorted(before["options"])
    assert faces(after["options"]) == faces(before["options"])
    assert arguments(after) == arguments(before)


@pytest.mark.parametrize("words", RECORDED)
def test_a_command_has_the_same_help_texts(now, words):
    before, after = RECORDED[words], now[words]

    assert after["texts"] == before["texts"]
    assert help_texts(after) == help_texts(before)


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
    assert "assay run mnist-mlp" in RECORDED["assay run"]["texts"]["epilog"]
