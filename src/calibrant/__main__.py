"""Entry point of the commands `calibrant` and `python -m calibrant`."""

from __future__ import annotations

import os
import sys

# Size in bytes up to which Python computes a table in less time than numba needs to load.
SMALL = 1 << 16


def run() -> None:
    """Run the command line and exit."""
    try:
        if _reads_little(sys.argv[1:]):
            from calibrant._kernels.jit import interpret
            from calibrant._special import load_compiled

            interpret()
            load_compiled()
        from calibrant.cli import main

        main(prog_name="calibrant")
    except KeyboardInterrupt:  # before the command line is loaded, which then handles signals
        sys.stderr.write("calibrant: stopped\n")
        sys.exit(130)


def _reads_little(arguments: list[str]) -> bool:
    """Return True if a command measures one small table of text, without clusters or recalibration."""
    tables = [each for each in arguments[1:] if each.endswith((".csv", ".tsv", ".jsonl"))]
    more = any(each.startswith(("--cluster", "--model", "--method", "--dev")) for each in arguments)
    if arguments[:1] not in (["measure"], ["report"]) or len(tables) != 1 or more:
        return False
    try:
        return os.stat(tables[0]).st_size <= SMALL
    except OSError:
        return False


if __name__ == "__main__":
    run()
