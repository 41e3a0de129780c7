"""Several processes for one training step: torch's DistributedDataParallel, one process a device.

The worker is the first; the others are its forks, started before torch is loaded, so that each
builds the same job. They take a step when the first requests it, and end with it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

JOIN_TIMEOUT = timedelta(minutes=5)  # until all have loaded torch and built the model
_PR_SET_PDEATHSIG = 1  # PR_SET_PDEATHSIG: the kernel ends a member with its worker


class TeamMember(NamedTuple):
    """A process of a team, as that process sees it."""

    rank: int
    size: int
    meeting: Path  # the file by which they find each other
    others: tuple[int, ...] = ()  # pipes to the other members; only of the first

    def request_step(self) -> None:
        """Request a step; the exchange of gradients synchronizes all members."""
        for other in self.others:
            os.write(other, b"s")

    def join(self) -> None:
        """Join the process group; each member gets a GPU or an equal share of the CPUs."""
        import torch

        on_gpu = torch.cuda.is_available()
        if on_gpu:
            torch.cuda.set_device(self.rank)
        elif "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // self.size))
        torch.distributed.init_process_group(
            "nccl" if on_gpu else "gloo",
            init_method=f"file://{self.meeting}",
            rank=self.rank,
            world_size=self.size,
            timeout=JOIN_TIMEOUT,
        )

    def own_rows(self, batch: Any) -> Any:
        """This member's rows of a batch."""
        if isinstance(batch, dict):
            return {name: self.own_rows(part) for name, part in batch.items()}
        if isinstance(batch, tuple | list):
            return type(batch)(self.own_rows(part) for part in batch)
        rows = len(batch) // self.size
        return batch[self.rank * rows : (self.rank + 1) * rows]


@contextmanager
def start_team(size: int, follow: Callable[[TeamMember], Any]) -> Iterator[TeamMember]:
    """Yield the first member; the others step the session that `follow` returns."""
    with tempfile.TemporaryDirectory() as folder:
        meeting = Path(folder) / "meeting"
        others: list[int] = []
        for rank in range(1, size):
            read, write = os.pipe()
            if os.fork() == 0:
                os.close(write)
                for other in others:
                    os.close(other)
                _run_member(TeamMember(rank, size, meeting), read, follow)
            os.close(read)
            others.append(write)
        try:
            yield TeamMember(0, size, meeting, tuple(others))
        finally:
            for other in others:  # closing the pipe ends the member
                os.close(other)


def _run_member(member: TeamMember, pipe: int, follow: Callable[[TeamMember], Any]) -> None:
    """A fork never returns from here."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    status = 1
    try:
        session = follow(member)
        while count := len(os.read(pipe, 64)):
            for _ in range(count):
                session.step()
        status = 0
    except BaseException:  # anything goes to the worker's log
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
