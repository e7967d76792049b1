"""`calibrant explore`: explore a store of events in a browser."""

from __future__ import annotations

import click

from calibrant.cli.made import Command
from calibrant.cli.options import AS_JSON
from calibrant.cli.progress import ProgressLine


@click.command(
    "explore",
    cls=Command,
    short_help="Explore a store of events in a browser.",
    epilog="Example: calibrant explore store --documents news.jsonl",
)
@click.argument("store", metavar="[STORE]", default="current-events")
@click.option(
    "--documents", metavar="DOCS", help="Documents of the run, to show texts that the store does not contain."
)
@click.option(
    "--labels",
    metavar="FILE",
    help="Labeled documents (columns score, label, cluster), for total intervals; or readings of calibrant "
    "events sample, for corrected counts of their country.  [default: for an included store, the included "
    "labels]",
)
@click.option(
    "--readings",
    metavar="FILE",
    help="Documents drawn by calibrant events sample, to read one after another; answers are written into "
    "FILE. When enough are read, the pages show corrected counts. Only on 127.0.0.1.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port; 0 chooses any free port.  [default: 8765, or the next free port]",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    help="Address to serve at. Any address that other machines can reach needs a token. The connection is "
    "not encrypted.",
)
@click.option(
    "--token",
    metavar="TEXT",
    envvar="CALIBRANT_TOKEN",
    help="Token that the browser must send, at least 16 characters; also read from CALIBRANT_TOKEN.  "
    "[default: none on 127.0.0.1, else a random token, which is printed]",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@AS_JSON
def command(
    store: str,
    documents: str | None,
    labels: str | None,
    readings: str | None,
    port: int | None,
    host: str,
    token: str | None,
    no_browser: bool,
    as_json: bool,
) -> None:
    """Serve pages about STORE, a folder written by `calibrant events run`, until Ctrl-C.

    STORE may also name an included store: current-events (the default; reports of 2002 to 2025),
    socialist-worker or reuters-21578. Included stores contain numbers, ids and dates, but no texts.

    The pages show counts by country over time with intervals and 1-best counts, compare two countries, list
    the documents behind each number, and show why each document counts. Every page is also available as JSON
    and CSV. By default only this machine can reach the pages. With --json, the address is printed as one line
    of JSON.
    """
    from calibrant.cli.text import show
    from calibrant.events.cli._events import labels_of, store_of
    from calibrant.events.files.readings import Readings
    from calibrant.events.results.exploring import ServedStore
    from calibrant.events.web import Explorer, serve

    with ProgressLine() as progress:
        labels = labels_of(store, labels)
        to_read = None if readings is None else Readings(readings)
        explorer = Explorer(
            store_of(store), documents=documents, labels=labels, readings=to_read, progress=progress
        )
    for note in (*explorer.about.notes, *explorer.about.problems):
        show([f"calibrant: warning: {note}"], err=True)

    def ready(address: str) -> None:
        said = f"Explore {store} at {address} (press Ctrl-C to stop)"
        show([ServedStore(store=store, address=address).to_json() if as_json else said])
        if not no_browser:
            import threading
            import webbrowser

            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    try:
        serve(explorer, host=host, port=port, token=token, ready=ready)
    except KeyboardInterrupt:
        if not as_json:
            show(["Stopped."])
