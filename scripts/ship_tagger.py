"""Write the predictions of a tagger that ship: src/calibrant/data/tagger-*.parquet, and its tags' counts.

A hidden Markov model, as `calibrant tag train --model hmm` makes it, is trained on the Penn Treebank tags of
the English Web Treebank, and gives each word of its dev and test text the probability of each tag.
`CALIBRANT_DATA` names the folder of the data; the same data give the same numbers.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from calibrant.data import tag_counts, tagger_predictions
from calibrant.structures import predict_tags, read_tagged, train_tagger

COLUMN = "xpos"
THRESHOLD = 0.01


def ship(data: Path) -> str:
    """Train, predict, write, and return what there is to check."""
    train, dev, test = (data / f"ud-english-ewt/en_ewt-ud-{part}.conllu.gz" for part in PARTS)
    model, _ = train_tagger(train, model="hmm", column=COLUMN)
    counts = Counter(tag for sentence in read_tagged(train, column=COLUMN).tags or [] for tag in sentence)
    lines = [
        f"{tag}\t{count}\n" for tag, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    tag_counts().write_text("".join(lines), encoding="utf-8")
    said = []
    for split, text in (("dev", dev), ("test", test)):
        output = tagger_predictions(split)
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / "whole.parquet"
            predict_tags(model, text, whole, column=COLUMN, drop_below=THRESHOLD)
            table = narrow(pq.read_table(whole))
        pq.write_table(table, output, compression="zstd", compression_level=19)
        said.append(f"{output.name}: {table.num_rows:,} rows, {output.stat().st_size:,} bytes")
    return "\n".join(said)


def narrow(table: pa.Table) -> pa.Table:
    """The columns that a measurement needs, in small types. The threshold stays noted."""
    sentence = table["cluster"].combine_chunks().indices
    columns = {
        "score": table["score"].cast(pa.float32()),
        "label": table["label"],
        "class": table["class"],
        "cluster": sentence.cast(pa.int32()),
        "item": table["item"].cast(pa.int32()),
    }
    return pa.table(columns).replace_schema_metadata(table.schema.metadata)


PARTS = ("train", "dev", "test")

if __name__ == "__main__":
    sys.stdout.write(ship(Path(os.environ["CALIBRANT_DATA"])) + "\n")
