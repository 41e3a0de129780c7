"""What holds after every fault, in words where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from assay.core.errors import AssayError
from assay.core.records import Query
from assay.core.registry import open_store
from assay.stores.runs import how_to_resume, verb_of
from tests.faults.world import OBEYED, SECRET, Answer, World


def broken(world: World, asked: set[str], answer: Answer | None = None) -> list[str]:
    """The claims that do not hold; `asked` are keys of cases that were to be measured."""
    return [
        *_lives_on(world),
        *(_spoken(answer, "the command itself") if answer else ()),
        *_unmeasured(world, asked),
        *_unanswered(world),
        *_lost(world),
        *(f"{file} was changed" for file in world.changed()),
        *_written(world),
    ]


def _lives_on(world: World) -> Iterator[str]:
    for process in world.alive():
        yield f"a process lives on: {process}"


def _unmeasured(world: World, asked: set[str]) -> Iterator[str]:
    """Every case is a result, or becomes one when the run is gone on with, or that is refused."""
    if not asked or not (world.home / "runs").exists():
        return
    with closing(open_store(world.home)) as store:
        try:
            run = store.find_run("last")
            verb, hint = verb_of(store, run), how_to_resume(store, run)
        except AssayError:  # it was ended before it had begun one
            return
    if "--resume" in hint:
        yield from _spoken(world.call(*hint.split()[1:]), hint)
    elif "start it again" not in hint:
        yield f"nobody says how to go on with a run of {verb}: {hint}"
    if verb == "run":
        with closing(open_store(world.home)) as store:
            found = {result.case.key for result in store.results(Query(ids=(run,)))}
        for key in asked - found:
            yield f"{key} is no result, and was not measured by --resume"


def _unanswered(world: World) -> Iterator[str]:
    for words in (("list", "results"), ("list", "results", "--format", "json"), ("show", "last")):
        yield from world.wrong_with(*words)


def _lost(world: World) -> Iterator[str]:
    """Also where the index is rebuilt."""
    for _ in range(2 if world.kept else 0):
        with closing(open_store(world.home)) as store:
            found = {result.id for result in store.results(Query())}
        for one in sorted(world.kept - found):
            yield f"{one} is lost"
        for file in world.home.glob("index.sqlite*"):
            file.unlink()


def _spoken(answer: Answer, what: str) -> Iterator[str]:
    # Ctrl-C while Python itself still starts is answered by Python, not by assay
    early = answer.err.endswith(b"KeyboardInterrupt\n") and b", in main\n" not in answer.err
    if b"Traceback" in answer.err and not early:
        yield f"{what} answered with a traceback: {answer.err[-2000:].decode(errors='replace')}"
    for stream in (answer.out, answer.err):
        if found := OBEYED.search(stream.replace(b"\r\x1b[K", b"")):
            place = stream[max(0, found.start() - 40) : found.end() + 20]
            yield f"{what} printed a control character: {place!r}"


def _written(world: World) -> Iterator[str]:
    for file, data in world.written().items():
        if SECRET.encode() in data:
            yield f"a secret is in {file}"
        if file.suffix == ".json" and OBEYED.search(data):
            yield f"a control character is in {file}"
