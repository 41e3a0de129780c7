"""A real Ray cluster for tests, in a network namespace with nothing but loopback.

Ray listens on all addresses whatever it is told; in a namespace of its own nobody can reach it.
Each node has a host name of its own, by which its results are known.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

ADDRESS = "ray://127.0.0.1:10001"
PATIENCE = 120.0  # seconds until a node has to be there
BIN = Path(sys.executable).parent
LISTENS = re.compile(r":2711 0+:0+ 0A")  # port 10001, in /proc/net/tcp


class RayNodes:
    """The namespace and the nodes in it; all that is started here ends with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = [] if os.geteuid() == 0 else ["--map-root-user"]
        self.variables = os.environ | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(16),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "1",  # seconds that a killed driver is waited for
        }
        up = "ip link set lo up && echo up && exec cat > /dev/null"
        words = ["unshare", *self._own, "--net", "sh", "-c", up]
        self._holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        # Before that, its network is still this machine's, and Ray would listen there.
        assert self._holder.stdout and self._holder.stdout.readline() == b"up\n"
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, variables: Mapping[str, str] | None = None) -> None:
        """A node of one CPU; the first is the head."""
        self.launch(name, variables)
        self.wait_for(name)

    def launch(self, name: str, variables: Mapping[str, str] | None = None) -> None:
        """Without waiting for it."""
        words = [
            str(BIN / "ray"),
            "start",
            "--num-cpus=1",
            "--node-ip-address=127.0.0.1",
            "--block",
        ]
        words += ["--disable-usage-stats", "--include-log-monitor=false"]
        words += ["--object-store-memory=80000000", f"--temp-dir={self._folder / name}"]
        if self._nodes:
            words += ["--address=127.0.0.1:6379"]
        else:
            words += ["--head", "--port=6379", "--ray-client-server-port=10001"]
            words += ["--include-dashboard=false"]
        named = f'hostname {name} && exec "$@"'
        log = self._folder / f"{name}.log"
        with log.open("wb") as file:
            self._nodes[name] = subprocess.Popen(
                [*self._inside(), "unshare", "--uts", "sh", "-c", named, "sh", *words],
                env=self.variables | dict(variables or {}),
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def wait_for(self, name: str) -> None:
        log = self._folder / f"{name}.log"
        self._wait_until(lambda: "Ray runtime started" in log.read_text(), log)
        tables = [Path(f"/proc/{self._holder.pid}/net/{kind}") for kind in ("tcp", "tcp6")]
        self._wait_until(lambda: any(LISTENS.search(table.read_text()) for table in tables), log)

    def kill(self, name: str) -> None:
        """As if its power were cut."""
        node = self._nodes[name]
        with suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()

    def assay(
        self, *words: str, home: Path, variables: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """A driver, which is there when this returns and has its output in pipes."""
        return subprocess.Popen(
            [*self._inside(), str(BIN / "assay"), *words],
            env=self.variables | {"ASSAY_HOME": str(home)} | dict(variables or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        for name in reversed(self._nodes):
            self.kill(name)
        self._holder.communicate()

    def _inside(self) -> list[str]:
        own = ["--user", "--preserve-credentials"] if self._own else []
        return ["nsenter", "--target", str(self._holder.pid), "--net", *own]

    def _wait_until(self, there, log: Path) -> None:
        begun = time.monotonic()
        while not there():
            assert time.monotonic() - begun < PATIENCE, log.read_text()[-3000:]
            time.sleep(0.2)


@contextmanager
def running() -> Iterator[RayNodes]:
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # short: Ray has sockets in it
    nodes = RayNodes(folder)
    try:
        yield nodes
    finally:
        nodes.close()
        shutil.rmtree(folder, ignore_errors=True)
