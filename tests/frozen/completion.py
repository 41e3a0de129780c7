"""What is offered when an option is completed: `python -m tests.frozen.completion` writes the file.

Each option of each command is completed as bash, zsh and fish ask for it: its flag, then its value.
The file has the values, as bash gets them. It runs in a fresh process, which also reports the
modules that completion loads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parent / "data" / "completion.json"
SHELLS = ("bash", "zsh", "fish")
RUNS = ("20261115-101500-aaaa/001", "20261116-101500-bbbb/001")
Offers = dict[str, list[str]]  # words of the line → what is offered: its kind, and the word

# A line that ends in a blank asks for the value of its last word, or for an argument.
CODE = """
import json, os, sys
import click
from click.shell_completion import get_completion_class
from assay.cli.main import assay as top

def commands(command, context):
    yield context.command_path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            inner = click.Context(part, info_name=name, parent=context, resilient_parsing=True)
            yield from commands(part, inner)

def lines():
    context = click.Context(top, info_name="assay", resilient_parsing=True)
    for path, command in commands(top, context):
        for part in command.params:
            if isinstance(part, click.Argument):
                yield path, ""
                continue
            for flag in (*part.opts, *part.secondary_opts):
                yield path, flag
                if not part.is_flag:
                    yield f"{path} {flag}", ""

def offers(shell, words, begun):
    os.environ["COMP_WORDS"] = f"{words} {begun}".strip()
    os.environ["COMP_CWORD"] = begun if shell == "fish" else str(len(words.split()))
    lines = get_completion_class(shell)(top, {}, "assay", "_ASSAY_COMPLETE").complete().split("\\n")
    if shell == "zsh":  # kind, word and help are a line each
        return sorted(f"{kind} {word}" for kind, word in zip(lines[::3], lines[1::3]))
    return sorted(line.partition("\\t")[0].replace(",", " ", 1) for line in lines if line)

def record(shell):
    return {f"{words} {begun}": offers(shell, words, begun) for words, begun in lines()}

shells = {shell: record(shell) for shell in sys.argv[1:]}
json.dump({"offers": shells, "modules": sorted(sys.modules)}, sys.stdout)
"""


class Record(NamedTuple):
    offers: dict[str, Offers]  # by shell
    modules: set[str]  # that were loaded


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        offers = record(Path(home)).offers["bash"]
    FILE.write_text(json.dumps(values(offers), indent=1, ensure_ascii=False) + "\n")


def recorded() -> Offers:
    """The values that were offered at f7cfc39."""
    offers: Offers = json.loads(FILE.read_text())
    return offers


def values(offers: Offers) -> Offers:
    """Of options and arguments that have any."""
    return {line: words for line, words in sorted(offers.items()) if line[-1] == " " and words}


def record(home: Path) -> Record:
    """What is offered with two runs in a store."""
    for run in RUNS:
        (home / "runs" / run).mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", CODE, *SHELLS],
        capture_output=True,
        text=True,
        env=os.environ | {"ASSAY_HOME": str(home)},
        check=True,
    )
    reply: dict[str, Any] = json.loads(done.stdout)
    return Record(reply["offers"], set(reply["modules"]))


if __name__ == "__main__":
    main()
