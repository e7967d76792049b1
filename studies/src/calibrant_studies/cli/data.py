"""`calibrant data`: the data sets that the studies read."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

command = CommandGroup(
    name="data",
    short_help="Get the data sets that the studies read.",
    help="List and fetch the public data sets that the studies read, and train the models that the "
    "studies use. Nothing is fetched unless you ask for it.\n\n"
    "Each command takes --json.",
    epilog="Example: calibrant data fetch twitter-pos",
    commands={
        "list": "calibrant_studies.cli.data_list",
        "fetch": "calibrant_studies.cli.data_fetch",
        "train": "calibrant_studies.cli.data_train",
        "where": "calibrant_studies.cli.data_where",
    },
)
