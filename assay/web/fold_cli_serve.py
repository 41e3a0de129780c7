"""assay serve: the dashboard."""

from __future__ import annotations

import click

from assay.cli import options
from assay.web.serve import HOST, PORT, serve


@click.command(
    epilog="""\b
Examples:
  assay serve
  assay serve --port 8123 --home /data/assay
  assay serve --store postgresql://reader@db.example.org/assay
  assay serve --host 0.0.0.0          other machines may read it, with the token it prints"""
)
@click.option("--host", default=HOST, show_default=True, help="Address to listen on.")
@click.option("--port", default=PORT, show_default=True, help="Port; 0: any that is free.")
@click.option(
    "--token",
    default="",
    envvar="ASSAY_TOKEN",
    help="Token that readers must give; default: none on this machine, a new one elsewhere.",
)
@options.home
def command(host: str, port: int, token: str, home: str | None) -> None:
    """Show the results in a browser: overview, runs, histories, comparisons.

    It only reads. Every page has a JSON twin: add ?format=json to its address.
    """
    dashboard = serve(host, port, home, token)
    options.say(f"{dashboard.address}   (Ctrl-C stops it)")
    dashboard.run()
