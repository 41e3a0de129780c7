"""assay serve: a real server in a child process, and what it refuses."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import ExitStack, suppress
from threading import Thread

import pytest

pytestmark = pytest.mark.real("starlette", "jinja2", "uvicorn")


def test_it_says_where_it_is_answers_and_stops_at_ctrl_c(home):
    command = [sys.executable, "-m", "assay", "serve", "--port", "0", "--home", str(home)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        address = re.match(r"http://127\.0\.0\.1:\d+", server.stderr.readline()).group()
        page = urllib.request.urlopen(address).read().decode()
        server.send_signal(signal.SIGINT)
        status = server.wait(60)

    assert "Nothing has been measured yet" in page
    assert status in {0, 130, -signal.SIGINT}


def test_half_open_connections_do_not_lock_out_a_reader(home):
    """Under a limit of 64 open files, 150 clients send half a header; another is still answered."""
    limited = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); "
    limited += "sys.argv[0] = 'assay'; runpy.run_module('assay', run_name='__main__')"
    command = [sys.executable, "-c", limited, "serve", "--port", "0", "--home", str(home)]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server,
        ExitStack() as all_,
    ):
        port = int(re.search(r":(\d+)", server.stderr.readline()).group(1))
        address = ("127.0.0.1", port)
        clients = [all_.enter_context(socket.create_connection(address, 20)) for _ in range(150)]
        for client in clients:
            with suppress(ConnectionError):  # dropped already
                client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=60).read().decode()
        server.send_signal(signal.SIGINT)
        server.wait(60)

    assert "Nothing has been measured yet" in page


def test_a_connection_without_a_request_is_closed(home, monkeypatch):
    from assay.web import connections
    from assay.web.serve import serve

    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.2)
    dashboard = serve(port=0, store=home)
    Thread(target=dashboard.run, daemon=True).start()
    with socket.create_connection(dashboard.socket.getsockname(), 30) as client:
        client.sendall(b"GET / HTTP/1.1\r\n")

        assert client.recv(1) == b""


def test_a_port_in_use_is_said(assay):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        status, _, err = assay("serve", "--port", str(port))

    assert status == 2
    assert f"Port {port} of 127.0.0.1 cannot be used" in err
    assert "--port" in err


def test_an_address_others_reach_gets_a_token(home):
    from assay.web.serve import serve

    dashboard = serve("0.0.0.0", 0, home)
    dashboard.socket.close()

    assert len(dashboard.token) > 20
    assert dashboard.token in dashboard.address
