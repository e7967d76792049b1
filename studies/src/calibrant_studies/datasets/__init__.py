"""The studies' data sets: descriptions, folders and sources.

`NAMES` names them, `data_set` describes each with its license, and `listing` gives those that are available.
`fetch` gets one from where its authors or others publish it, at a fixed commit, checks it, and writes it in
the form that the studies read. `data_folder` says where: in the folder that the environment variable
``CALIBRANT_DATA`` names, else in a cache folder.
"""

from calibrant_studies.datasets._catalogue import NAMES, DataFile, DataSet, Original, data_set
from calibrant_studies.datasets._fetching import Fetched, Fetching, fetch
from calibrant_studies.datasets._folders import data_folder
from calibrant_studies.datasets._listing import DataFolder, Entry, Listing, listing

__all__ = [
    "NAMES",
    "DataFile",
    "DataFolder",
    "DataSet",
    "Entry",
    "Fetched",
    "Fetching",
    "Listing",
    "Original",
    "data_folder",
    "data_set",
    "fetch",
    "listing",
]
