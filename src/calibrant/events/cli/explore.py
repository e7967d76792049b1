"""`calibrant explore`: a store of events in a browser."""

from __future__ import annotations

import click

from calibrant.cli.options import AS_JSON
from calibrant.cli.progress import ProgressLine


@click.command(
    "explore",
    short_help="Look at a store of events in a browser.",
    epilog="Example: calibrant explore events.store --documents news.jsonl",
)
@click.argument("store", metavar="[STORE]", default="current-events")
@click.option(
    "--documents", metavar="DOCS", help="What the store was made from: for texts that it does not hold."
)
@click.option(
    "--dev",
    metavar="FILE",
    help="Labelled documents (score, label, cluster): adds the total interval.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port; 0 is any that is free.  [default: 8765 or the next free]",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Address to serve at. Others than this machine's own need a token; nothing is encrypted.",
)
@click.option(
    "--token",
    metavar="TEXT",
    envvar="CALIBRANT_TOKEN",
    help="What a browser must bring, at least 16 characters; CALIBRANT_TOKEN is read too.  "
    "[default: none on 127.0.0.1, else a random one that is printed]",
)
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@AS_JSON
def command(
    store: str,
    documents: str | None,
    dev: str | None,
    port: int | None,
    host: str,
    token: str | None,
    no_browser: bool,
    as_json: bool,
) -> None:
    """Serve pages about STORE, which calibrant events run has written, until Ctrl-C.

    Without STORE one opens that ships with the package: current-events, reports of 2002 to 2025 (numbers,
    ids and dates, no texts). The others are socialist-worker and reuters-21578.

    Countries over time with intervals and the 1-best line, two countries compared, the documents behind
    each number, and why each counts. Every page is there as JSON and CSV too. Only this machine can reach
    it, unless --host says otherwise. With --json the address is printed as a line of JSON.
    """
    from calibrant.cli.text import show
    from calibrant.events.cli._events import labels_of, store_of
    from calibrant.events.results.exploring import ServedStore
    from calibrant.events.web import Explorer, serve

    with ProgressLine() as progress:
        labels = labels_of(store, dev)
        explorer = Explorer(store_of(store), documents=documents, dev=labels, progress=progress)
    for problem in explorer.about.problems:
        show([f"calibrant: not shown: {problem}"], err=True)

    def ready(address: str) -> None:
        said = f"Explore {store} at {address} (Ctrl-C ends)"
        show([ServedStore(store=store, address=address).to_json() if as_json else said])
        if not no_browser:
            import threading
            import webbrowser

            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    try:
        serve(explorer, host=host, port=port, token=token, ready=ready)
    except KeyboardInterrupt:
        if not as_json:
            show(["Ended."])
