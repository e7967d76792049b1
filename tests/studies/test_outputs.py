from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from calibrant.records import Record, schema
from calibrant_studies.datasets import Fetched, Fetching, listing
from calibrant_studies.outputs import OUTPUTS


@pytest.mark.parametrize(
    "record",
    [
        listing(["wsj-pos", "sentiment"], Path("no", "such", "folder")),
        Fetching(data_sets=(Fetched(name="wsj-pos", folder="data", files=("a",), size=3),)),
    ],
    ids=lambda record: f"{type(record).__name__}",
)
def test_json_fits_the_schema_and_is_read_back(record: Record) -> None:
    (command,) = [each for each, kind in OUTPUTS.items() if isinstance(record, kind)]
    found = json.loads(record.to_json())
    jsonschema.validate(found, schema(type(record), command=command))
    assert type(record).from_dict(found).to_dict() == record.to_dict()
