"""assay serve: a real server in a child process, and what it refuses."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request

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
