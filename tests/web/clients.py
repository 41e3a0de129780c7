"""Clients of the dashboard in this process."""

from __future__ import annotations

from typing import Any


def web_client(home: Any, token: str = "", base_url: str = "http://127.0.0.1:8000") -> Any:
    """Starlette's client; imported here, so that files of tests load where it is not installed."""
    from starlette.testclient import TestClient

    from assay.web.app import application

    return TestClient(application(home, token), base_url=base_url)
