"""The command line: `calibrant`, and `python -m calibrant`."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line and exit."""
    try:
        from calibrant.cli import main

        main(prog_name="calibrant")
    except KeyboardInterrupt:  # before the command line is loaded, which then handles signals
        sys.stderr.write("calibrant: stopped\n")
        sys.exit(130)


if __name__ == "__main__":
    run()
