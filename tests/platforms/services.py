"""Services on loopback for the sinks: a table store that speaks BigQuery's interface, and a proxy
that is down, slow, refusing or cut in the middle, before it or before a real emulator."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = tuple[int, bytes]
Answering = Callable[[str, str, dict[str, str], bytes], Answer]
_HOP = {"host", "connection", "transfer-encoding", "content-length", "accept-encoding"}


class Faulty:
    """Answers by a function, with the next of its faults: a status, `slow`, `cut-before` the
    request is heard, `cut-after` it was carried out; `None` is none. Which path they hit can be
    chosen."""

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        self.faults: list[int | str | None] = []
        self.only = ""  # a part of the path
        self.seen: list[tuple[str, str]] = []
        self.lock = threading.Lock()

    def fault(self, path: str) -> int | str | None:
        with self.lock:
            hit = self.faults and self.only in path
            return self.faults.pop(0) if hit else None


@contextmanager
def serving(answering: Answering) -> Iterator[tuple[Faulty, str]]:
    """The service and its address."""
    faulty = Faulty(answering)

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            faulty.seen.append((self.command, self.path))
            fault = faulty.fault(self.path)
            if fault == "cut-before":
                self.connection.close()
                self.close_connection = True
                return
            if fault == "slow":
                time.sleep(0.3)
            if isinstance(fault, int):
                error = {"error": {"code": fault, "message": "told to", "errors": []}}
                return self.reply(fault, json.dumps(error).encode())
            status, answer = answering(self.command, self.path, dict(self.headers), body)
            if fault == "cut-after":
                self.connection.close()
                self.close_connection = True
                return
            self.reply(status, answer)

        def reply(self, status: int, answer: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield faulty, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def forwarding(host: str, port: int) -> Answering:
    """To a real emulator."""

    def forward(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        link = http.client.HTTPConnection(host, port, timeout=60)
        kept = {name: value for name, value in headers.items() if name.lower() not in _HOP}
        link.request(method, path, body, kept)
        answer = link.getresponse()
        data = answer.read()
        link.close()
        return answer.status, data

    return forward


class Tables:
    """Datasets, tables and rows, as far as the client asks for them. Insert ids are not heeded:
    a row that is sent twice is there twice."""

    def __init__(self) -> None:
        self.schemas: dict[str, list[dict]] = {}
        self.rows: dict[str, list[dict]] = {}
        self.jobs: dict[str, dict] = {}

    def __call__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        given = json.loads(body) if body else {}
        bare = path.partition("?")[0]
        if match := re.search(r"/datasets/(\w+)/tables/([\w-]+)(/insertAll)?$", bare):
            return self._table(f"{match[1]}.{match[2]}", bool(match[3]), given)
        if match := re.search(r"/datasets/(\w+)/tables$", bare):
            reference = given["tableReference"]
            name = f"{reference['datasetId']}.{reference['tableId']}"
            self.schemas[name], self.rows[name] = given["schema"]["fields"], []
            return self._ok(given)
        if bare.endswith("/datasets"):
            return self._ok(given)
        if bare.endswith("/jobs"):
            return self._job(given)
        if match := re.search(r"/(?:queries|jobs)/([\w-]+)$", bare):
            return self._ok(self.jobs[match[1]])
        return 501, b"{}"

    def _table(self, name: str, insert: bool, given: dict) -> Answer:
        if name not in self.schemas:
            return 404, json.dumps({"error": {"code": 404, "message": "no table"}}).encode()
        if insert:
            self.rows[name] += [row["json"] for row in given["rows"]]
            return self._ok({"kind": "bigquery#tableDataInsertAllResponse"})
        dataset, _, table = name.partition(".")
        reference = {"projectId": "p", "datasetId": dataset, "tableId": table}
        return self._ok({"tableReference": reference, "schema": {"fields": self.schemas[name]}})

    def _job(self, given: dict) -> Answer:
        """The one query there is: which of these keys are there."""
        query = given["configuration"]["query"]
        key, name = re.search(r"SELECT (\w+) FROM `[^.]+\.(\S+)`", query["query"]).groups()
        (parameter,) = query["queryParameters"]
        keys = {one["value"] for one in parameter["parameterValue"]["arrayValues"]}
        found = [str(row[key]) for row in self.rows[name] if str(row[key]) in keys]
        kind = "INTEGER" if parameter["parameterType"]["arrayType"]["type"] == "INT64" else "STRING"
        job = given["jobReference"]["jobId"]
        done = {"jobReference": given["jobReference"], "status": {"state": "DONE"}}
        self.jobs[job] = {
            **done,
            "configuration": given["configuration"],
            "jobComplete": True,
            "schema": {"fields": [{"name": key, "type": kind}]},
            "rows": [{"f": [{"v": value}]} for value in found],
            "totalRows": str(len(found)),
            "statistics": {"query": {"statementType": "SELECT"}},
        }
        return self._ok({**self.jobs[job]})

    @staticmethod
    def _ok(document: dict) -> Answer:
        return 200, json.dumps(document).encode()
