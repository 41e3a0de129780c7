"""The program, as `assay` and as `python -m assay`.

Ctrl-C may come while the command line itself is still being loaded: that, too, ends without a
traceback.
"""


def main() -> None:
    """Load the command line, and obey it."""
    try:
        from assay.cli.main import main as obey

        obey()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
