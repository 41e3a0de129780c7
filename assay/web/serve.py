"""The dashboard on a port of this machine."""

from __future__ import annotations

import secrets
import socket
from typing import Annotated, NamedTuple

from assay.cli import options
from assay.cli.command import Keywords, click_command
from assay.core.errors import NotPossibleError, UsageError
from assay.core.options import Flag, StoreUrl, accept_old_keywords
from assay.core.registry import open_store
from assay.core.settings import Home

HOST, PORT = "127.0.0.1", 8000


class Dashboard(NamedTuple):
    """A dashboard whose port is taken and that has not begun to answer."""

    address: str  # to open in a browser
    socket: socket.socket
    store: Home
    token: str

    def run(self) -> None:
        """Answer until Ctrl-C."""
        import uvicorn

        from assay.web.app import application
        from assay.web.connections import LimitedConnection

        config = uvicorn.Config(
            application(self.store, self.token),
            http=LimitedConnection,
            ws="none",
            log_level="warning",
            server_header=False,
        )
        uvicorn.Server(config).run(sockets=[self.socket])


@accept_old_keywords(home="store")
def serve(
    host: Annotated[str, Flag("Address to listen on.")] = HOST,
    port: Annotated[int, Flag("Port; 0: any that is free.")] = PORT,
    store: StoreUrl = None,
    token: Annotated[
        str,
        Flag(
            "Token that readers must give; default: none on this machine, a new one elsewhere.",
            envvar="ASSAY_TOKEN",
        ),
    ] = "",
) -> Dashboard:
    """Take the port; the caller says where it is, and runs it.

    On an address that other machines reach a token is needed to read; without one given, one is
    made.

    >>> assay.serve(port=8123).run()
    """
    _check_installed()
    from assay.web.guard import is_loopback

    open_store(store).close()  # raises now if the store cannot be read
    if not token and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    listener = _bind(host, port)
    shown = f"[{host}]" if ":" in host else host
    query = f"/?token={token}" if token else ""
    return Dashboard(f"http://{shown}:{listener.getsockname()[1]}{query}", listener, store, token)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()  # connections before the first answer wait
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"Port {port} of {host} cannot be used ({why}).",
            hint=f"Another program may have it: assay serve --port {port % 60_000 + 1}",
        ) from None
    return listener


def _check_installed() -> None:
    import importlib.util

    missing = [n for n in ("starlette", "jinja2", "uvicorn") if not importlib.util.find_spec(n)]
    if missing:
        raise NotPossibleError(
            f"The dashboard needs {', '.join(missing)}.", hint="pip install 'assay-lab[web]'"
        )


@click_command(
    serve,
    epilog="""\b
Examples:
  assay serve
  assay serve --port 8123 --home /data/assay
  assay serve --store postgresql://reader@db.example.org/assay
  assay serve --host 0.0.0.0          other machines may read it, with the token it prints""",
)
def command(keywords: Keywords) -> None:
    """Show the results in a browser: overview, runs, histories, comparisons.

    It only reads. Every page has a JSON twin: add ?format=json to its address.
    """
    dashboard = serve(**keywords)
    options.print_message(f"{dashboard.address}   (Ctrl-C stops it)")
    dashboard.run()
