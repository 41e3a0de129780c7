"""A real PostgreSQL server for tests: from Debian's package, in a temporary folder, on loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

PASSWORD = "pass-Word7-of-a-test"


class PostgresServer:
    """`folder` has its socket, over which nobody is asked for a password."""

    def __init__(self, folder: Path, port: int, command: list[str], account: str) -> None:
        self.folder, self.port = folder, port
        self._command, self._who = command, _account(account)
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("wb") as log:
            return subprocess.Popen(
                self._command, stdout=log, stderr=log, cwd=self.folder, **self._who
            )

    def stop(self) -> None:
        """A fast end: nobody is waited for."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def start_again(self) -> None:
        self.process.wait()
        self.process = self._start()
        _wait(self, "SELECT 1")

    @property
    def url(self) -> str:
        return f"postgresql://tester@/assay?host={self.folder}&port={self.port}"

    @property
    def with_password(self) -> str:
        return f"postgresql://tester:{PASSWORD}@127.0.0.1:{self.port}/assay"

    def execute(self, statement: str, database: str = "assay") -> list[tuple[object, ...]]:
        import psycopg

        where = {"host": str(self.folder), "port": self.port, "user": "tester", "dbname": database}
        with closing(psycopg.connect(**where, autocommit=True)) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def empty(self) -> None:
        """Nothing is left of an earlier test, nor anyone who is still connected."""
        self.cut()
        self.execute("DROP SCHEMA IF EXISTS assay CASCADE")

    def cut(self) -> None:
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'assay'"
        )


@contextmanager
def running() -> Iterator[PostgresServer]:
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)
    folder = Path(tempfile.mkdtemp(prefix="assay-postgres-"))
    (folder / "password").write_text(PASSWORD)
    account = "postgres" if os.getuid() == 0 else ""  # the server refuses to run as root
    if account:
        user = pwd.getpwnam(account)
        for place in (folder, folder / "password"):
            os.chown(place, user.pw_uid, user.pw_gid)
    who = _account(account)
    words = ["--auth-local=trust", "--auth-host=scram-sha-256", "-U", "tester", "--no-sync"]
    words += ["--encoding=UTF8", "--locale=C", f"--pwfile={folder}/password"]
    subprocess.run(
        [programs / "initdb", "-D", folder / "data", *words], check=True, capture_output=True, **who
    )
    port = _free_port()
    settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": str(folder)}
    settings |= {"port": str(port), "fsync": "off", "shared_buffers": "64MB"}
    flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    command = [str(programs / "postgres"), "-D", str(folder / "data"), *flags]
    server = PostgresServer(folder, port, command, account)
    try:
        _wait(server, "CREATE DATABASE assay")
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def _account(name: str) -> dict[str, Any]:
    return {"user": name, "group": name, "extra_groups": []} if name else {}


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _wait(server: PostgresServer, statement: str) -> None:
    import psycopg

    while True:
        with suppress(psycopg.OperationalError):
            server.execute(statement, "postgres")
            return
        assert server.process.poll() is None, (server.folder / "log").read_text()
        time.sleep(0.05)


class Cutter:
    """A proxy before a server that cuts the first connection which says `word`: before the server
    hears it, or after, so that the answer is lost."""

    def __init__(self, port: int, word: bytes, heard: bool) -> None:
        self.cuts = 0
        self._server, self._word, self._heard = port, word, heard
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                for source, target in ((client, server), (server, client)):
                    words = (source, target, source is client)
                    threading.Thread(target=self._pass_on, args=words, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, said: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if said and not self.cuts and self._word in data:
                    self.cuts += 1
                    source.shutdown(socket.SHUT_RDWR)
                    if self._heard:
                        target.sendall(data)
                        target.recv(1)  # it is done
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
