"""The records that the commands of this distribution print as JSON."""

from calibrant.records import Record
from calibrant_studies._base import Study
from calibrant_studies.datasets import DataFolder, Fetching, Listing
from calibrant_studies.models import TrainedModels

OUTPUTS: dict[str, type[Record]] = {
    "data fetch": Fetching,
    "data list": Listing,
    "data train": TrainedModels,
    "data where": DataFolder,
    "study": Study,
}
