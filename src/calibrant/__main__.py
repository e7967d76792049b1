"""Entry point of the commands `calibrant` and `python -m calibrant`."""

from __future__ import annotations

import os
import sys
import warnings


def run() -> None:
    """Run the command line and exit."""
    _open_streams()
    os.environ["PYTHONSAFEPATH"] = "1"  # no process that this one starts imports from the working directory
    # Libraries fail on values that no command needs: figures are files, and no file contains a date.
    os.environ["MPLBACKEND"] = "agg"
    os.environ.pop("SOURCE_DATE_EPOCH", None)
    warnings.formatwarning = lambda message, *_: f"calibrant: warning: {message}\n"
    try:
        from calibrant.cli import main

        main(prog_name="calibrant")
    except KeyboardInterrupt:  # before the command line is loaded, which then handles signals
        sys.stderr.write("calibrant: stopped\n")
        sys.exit(130)


def _open_streams() -> None:
    """Open the null device for each standard stream that is closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the next file that is opened would take the place of the stream
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


if __name__ == "__main__":
    run()
