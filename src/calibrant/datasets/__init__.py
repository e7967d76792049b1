"""The studies' data sets: what they are, where they lie, and how to get them.

`NAMES` names them and `data_set` says what each is, and under which licence. `fetch` gets one from where its
authors or others publish it, at a fixed commit, checks it, and writes it in the form that the studies read.
`data_folder` is where: what the environment variable ``CALIBRANT_DATA`` names, else a cache folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant._lazy import lazily

if TYPE_CHECKING:
    from calibrant.datasets._catalogue import NAMES, DataFile, DataSet, Original, data_set
    from calibrant.datasets._fetching import Fetched, fetch
    from calibrant.datasets._folders import data_folder

__all__ = ["NAMES", "DataFile", "DataSet", "Fetched", "Original", "data_folder", "data_set", "fetch"]

__getattr__, __dir__ = lazily(__name__)
