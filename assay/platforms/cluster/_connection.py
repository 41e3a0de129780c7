"""Interface to Ray: connect, list nodes, start units, get their values."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

# Otherwise Ray would start a local cluster, open to the network, after the loss of its cluster.
os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # read at import

import ray
from ray import exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from assay.core.errors import NotPossibleError
from assay.core.executor import RemoteTask
from assay.platforms.cluster import _node
from assay.platforms.cluster.address import FORMS
from assay.platforms.cluster.resources import Slot

REACH_TIMEOUT = 10.0  # seconds until a timeout
TRIES = 3  # to connect
# Ray's head forks a process for each client in a threaded process, which sometimes exits at once,
# mostly on a busy machine; a retry succeeds.
START_FAILURES = ("Starting Ray client server failed", "Proxy failed to Connect to backend")
# Errors of lost nodes or worker processes, not of failed units.
LOST_REASON = (
    exceptions.LocalRayletDiedError,
    exceptions.NodeDiedError,
    exceptions.ObjectLostError,
    exceptions.OutOfMemoryError,
    exceptions.RaySystemError,
    exceptions.TaskUnschedulableError,
    exceptions.WorkerCrashedError,
)
TOKEN = "A cluster with RAY_AUTH_MODE=token needs it here too, with its RAY_AUTH_TOKEN."
HEAD = "Its head node ended the process of this client, perhaps out of memory: see its log."
INSTALL = "Use the same Python and Ray as the cluster, and see its log."


@contextmanager
def connect(address: str) -> Iterator[RayLink]:
    """Connect as a driver of the cluster for the block."""
    if address != "auto":
        _check_reachable(address)
    with _keep_signal_handlers():
        _init(address)
    try:
        yield RayLink()
    finally:
        ray.shutdown()


class RayLink:
    """A connection to a cluster, as its driver."""

    def __init__(self) -> None:
        self._task = ray.remote(_node.run_task)
        self._board: Any = None

    def nodes(self) -> list[dict[str, object]]:
        with _explain():
            return list(ray.nodes())

    def versions(self, nodes: Sequence[str]) -> dict[str, str]:
        """Versions of assay on nodes; "": not installed."""
        with _explain():
            probe = ray.remote(_version_probe())
            probes = {probe.options(**_at_address(node)).remote(): node for node in nodes}
            ready, _ = ray.wait(list(probes), num_returns=len(probes), timeout=60.0)
            return {probes[ref]: version for ref in ready if (version := _answer(ref)) is not None}

    def start(self, seat: Slot, number: int, unit: RemoteTask) -> Any:
        with _explain():
            if self._board is None:
                board = ray.remote(_node.ProgressBoard)
                self._board = board.options(
                    **_at_address(seat.node.id, soft=True), max_restarts=-1
                ).remote()
            resources = {"num_cpus": seat.cpus, "num_gpus": seat.gpus}
            task = self._task.options(
                **{**_at_address(seat.node.id), **resources}, max_retries=0, name=unit.case.key
            )
            ids = [case_dir.id for case_dir in unit.case_dirs]
            return task.remote(number, unit.function, unit.args, ids, os.getcwd(), self._board)

    def wait(self, running: Collection[Any], seconds: float) -> list[Any]:
        with _explain():
            refs = list(running)
            return list(ray.wait(refs, num_returns=len(refs), timeout=0)[0]) or list(
                ray.wait(refs, num_returns=1, timeout=seconds)[0]
            )

    def outcome(self, ref: Any) -> _node.TaskOutcome | str:
        """The value of a unit, or a text: why it was lost."""
        try:
            return ray.get(ref)  # type: ignore[no-any-return]
        except exceptions.RayTaskError as error:
            raise error.cause or error from None
        except (*LOST_REASON, ConnectionError) as error:  # nodes() reports a lost cluster
            return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"

    def progress(self) -> dict[int, Any]:
        """New progress of units since the last call."""
        if self._board is None:
            return {}
        try:
            return dict(ray.get(self._board.take.remote(), timeout=REACH_TIMEOUT))
        except (exceptions.RayError, ConnectionError):  # the board's node is lost or busy
            return {}

    def cancel(self, ref: Any) -> None:
        with suppress(exceptions.RayError, ConnectionError, ValueError):
            ray.cancel(ref, force=True)


def _at_address(node: str, soft: bool = False) -> dict[str, Any]:
    return {"num_cpus": 0, "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=soft)}


def _version_probe() -> Callable[[], str]:
    def probe() -> str:  # pickled by value, for nodes without assay
        try:
            import assay
        except ImportError:
            return ""
        return assay.__version__

    return probe


def _answer(ref: Any) -> str | None:
    try:
        return str(ray.get(ref))
    except exceptions.RayError:  # the node is lost
        return None


def _check_reachable(address: str) -> None:
    """Check first: Ray would retry for half a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_TIMEOUT).close()
    except OSError as error:
        raise NotPossibleError(
            f"There is no Ray cluster at {address} ({error.strerror or error}).",
            hint="Start one with ray start --head, or check its address.",
        ) from None


def _init(address: str) -> None:
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    for retries in reversed(range(TRIES)):
        try:
            with warnings.catch_warnings(action="ignore"):
                ray.init(address, log_to_driver=False, configure_logging=False)
            return
        except exceptions.AuthenticationError as error:
            raise NotPossibleError(f"The Ray cluster refused: {_why(error)}", hint=TOKEN) from None
        except (ConnectionError, RuntimeError, ValueError, exceptions.RayError) as error:
            ray.shutdown()
            if not retries or not _not_started(error):
                raise unusable_reason(address, error) from None


def _not_started(error: Exception) -> bool:
    return any(words in str(error) for words in START_FAILURES)


def unusable_reason(address: str, error: Exception) -> NotPossibleError:
    """The error for a failed connection."""
    text = str(error).lower()  # with a wrong token, Ray's client times out
    denied = any(word in text for word in ("token", "auth", "timeout"))
    if "could not find any running ray" in text:
        return NotPossibleError("This machine is no node of a running Ray cluster.", hint=FORMS)
    where = "of this machine" if address == "auto" else f"at {address}"
    hint = HEAD if _not_started(error) else TOKEN if denied else INSTALL
    return NotPossibleError(f"The Ray cluster {where} cannot be used ({_why(error)}).", hint=hint)


@contextmanager
def _explain() -> Iterator[None]:
    """Convert errors of a lost cluster."""
    try:
        yield
    except (ConnectionError, exceptions.RaySystemError, exceptions.RpcError) as error:
        raise NotPossibleError(
            f"The Ray cluster does not answer any more ({_why(error)}).",
            hint="Results are stored; continue with --resume last when it is back.",
        ) from None


def _why(error: BaseException) -> str:
    """The first line of an error, or the last of a server's traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = -1 if any(line.startswith("Traceback") for line in lines) else 0
    return (lines[line] if lines else type(error).__name__).rstrip(".")[:300]


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """Restore signal handlers, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
