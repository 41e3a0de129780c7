"""Alerts against receivers on loopback: delivered, refused, slow, down."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from assay.commands.check import alerts
from assay.core.errors import UsageError

DOCUMENT = b'{"kind": "check"}'


@contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def webhook(status: int = 200, delay: float = 0.0):
    bodies: list[bytes] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            time.sleep(delay)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with serving(HTTPServer(("127.0.0.1", 0), Receiver)) as server:
        yield f"http://127.0.0.1:{server.server_port}/services/T0/secret", bodies


@contextmanager
def mail_server(answer: str = "250 OK", delay: float = 0.0):
    mails: list[str] = []

    class Receiver(socketserver.StreamRequestHandler):
        def handle(self):
            time.sleep(delay)
            self.say("220 test")
            for line in self.rfile:
                word = line.decode().strip().upper()
                if word.startswith("DATA"):
                    self.say("354 go on")
                    mails.append(self.body())
                elif word.startswith("QUIT"):
                    return self.say("221 bye")
                self.say(answer if word.startswith(("RCPT", "DATA")) else "250 OK")
            return None

        def body(self) -> str:
            lines = iter(lambda: self.rfile.readline().decode(), ".\r\n")
            return "".join(lines)

        def say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Receiver)) as server:
        yield f"smtp://127.0.0.1:{server.server_address[1]}?to=team@example.org", mails


def sent(place: str, timeout: float = 5.0) -> str:
    (said,) = alerts.send_all([place], "2 regressions\nw@b +10 %", DOCUMENT, timeout)
    return said


def test_a_webhook_gets_a_text_and_the_document():
    with webhook() as (place, bodies):
        said = sent(place)

    assert said == "alert to http://127.0.0.1: delivered"
    found = json.loads(bodies[0])
    assert found["text"].startswith("2 regressions")
    assert found["assay"] == {"kind": "check"}


def test_a_mail_has_the_headline_and_the_document():
    with mail_server() as (place, mails):
        said = sent(place)

    assert said == "alert to smtp://127.0.0.1: delivered"
    assert "Subject: 2 regressions" in mails[0] and "check.json" in mails[0]


def test_a_command_gets_the_document_and_the_text(tmp_path):
    script = f'cat > {tmp_path}/in.json; printf %s "$ASSAY_ALERT" > {tmp_path}/text'

    assert sent(f'cmd:sh -c "{script.replace(chr(34), chr(92) + chr(34))}"').endswith("delivered")
    assert (tmp_path / "in.json").read_bytes() == DOCUMENT
    assert (tmp_path / "text").read_text().startswith("2 regressions")


def test_one_that_refuses_is_said():
    with webhook(403) as (place, _):
        assert "FAILED (it answered 403" in sent(place)
    with mail_server("550 no such user") as (place, _):
        assert "FAILED (SMTPRecipientsRefused" in sent(place)
    assert "FAILED (it left with 1)" in sent("cmd:false")


def test_one_that_is_slow_is_not_waited_for():
    with webhook(delay=1.0) as (place, _):
        assert "FAILED (it took too long)" in sent(place, timeout=0.2)
    with mail_server(delay=1.0) as (place, _):
        assert "FAILED (it took too long)" in sent(place, timeout=0.2)
    assert "FAILED (it took too long)" in sent("cmd:sleep 5", timeout=0.2)


def test_one_that_is_down_is_said_and_the_next_is_told_all_the_same():
    with webhook() as (place, bodies):
        said = alerts.send_all(["http://127.0.0.1:9/x", "cmd:/no/such", place], "t", DOCUMENT)

    assert ["FAILED" in one for one in said] == [True, True, False]
    assert len(bodies) == 1


def test_what_is_said_holds_no_secret():
    said = sent("https://user:hunter2@127.0.0.1:9/services/T0/secret")

    assert "secret" not in said and "hunter2" not in said


@pytest.mark.parametrize("place", ["slack", "smtp://host", "cmd:", "ftp://x/y", "https://"])
def test_a_place_that_is_none_is_refused_at_once(place):
    with pytest.raises(UsageError, match="is no place for an alert"):
        alerts.check_places([place])
