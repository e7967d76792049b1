#!/usr/bin/env bash
# Long runs with little memory and on a disk that fills up. Needs root for a small disk and for a limit on
# memory (cgroups); without them it says what was not tested.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=$root/.venv/bin/python
calibrant() { "$python" -m calibrant "$@"; }
rows=${ROWS:-100000000}
memory=${MEMORY:-700} # MiB
disk=20               # MiB

away=$(mktemp -d)
group=""
finish() {
    umount "$away/disk" 2>/dev/null || true
    if [ -n "$group" ]; then rmdir "$group" 2>/dev/null || true; fi
    rm -rf "$away"
}
trap finish EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}

limited() { # limited COMMAND...: in a group of processes whose memory is limited
    ("$BASH" -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$group" "$@")
}

echo "== $rows pairs, their classes and clusters"
"$python" - "$away/pairs.parquet" "$rows" <<'PYTHON'
import sys

import numpy as np
import pyarrow as pa
from pyarrow import parquet

target, rows = sys.argv[1], int(sys.argv[2])
names = pa.array([f"tag{number}" for number in range(300)])
schema = pa.schema([("score", pa.float64()), ("label", pa.int8()), ("class", pa.dictionary(pa.int32(), pa.string()))])
draw = np.random.default_rng(1)
with parquet.ParquetWriter(target, schema) as writer:
    for start in range(0, rows, 1 << 20):
        size = min(1 << 20, rows - start)
        score = 1 / (1 + np.exp(3 - 5 * draw.standard_normal(size)))
        label = (draw.random(size) < score).astype(np.int8)
        tag = pa.DictionaryArray.from_arrays(pa.array(draw.integers(0, 300, size, dtype=np.int32)), names)
        writer.write_table(pa.table([pa.array(score), pa.array(label), tag], schema=schema))
PYTHON
"$python" - "$away/dev.parquet" "$away/pairs.parquet" <<'PYTHON'
import sys

import pyarrow as pa
from pyarrow import parquet

batches = parquet.ParquetFile(sys.argv[2]).iter_batches(200_000)
parquet.write_table(pa.Table.from_batches([next(batches)]), sys.argv[1])
PYTHON
calibrant fit "$away/dev.parquet" --method platt -o "$away/map.json" >/dev/null

controller=/sys/fs/cgroup/memory
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then controller=/sys/fs/cgroup; fi
group=$controller/calibrant-$$
if mkdir "$group" 2>/dev/null; then
    limit=$group/memory.limit_in_bytes
    if [ -e "$group/memory.max" ]; then limit=$group/memory.max; fi
    echo $((memory << 20)) >"$limit"
    for command in "measure $away/pairs.parquet" "apply $away/map.json $away/pairs.parquet -o $away/recalibrated.parquet"; do
        echo "== ${command%% *} in $memory MiB"
        # shellcheck disable=SC2086
        limited "$python" -m calibrant $command >"$away/out" 2>"$away/err" || fail "$command: $(tail -n 1 "$away/err")"
        peak=$(cat "$group/memory.peak" 2>/dev/null || cat "$group/memory.max_usage_in_bytes")
        echo "   through; at most $((peak >> 20)) MiB with the pages of files that the system kept"
    done
    rm -f "$away/recalibrated.parquet"
else
    group=""
    echo "Not tested, since memory cannot be limited here."
fi

mkdir "$away/disk"
if ! mount -t tmpfs -o size=${disk}m tmpfs "$away/disk" 2>/dev/null; then
    echo "Not tested, since no small disk can be made here: a full disk."
    exit 0
fi
echo "== apply onto a disk of $disk MiB"
code=0
calibrant apply "$away/map.json" "$away/pairs.parquet" -o "$away/disk/recalibrated.parquet" 2>"$away/err" || code=$?
if [ $code = 0 ] || grep -q Traceback "$away/err" || ! grep -q "no space left" "$away/err"; then
    fail "apply ended with $code: $(tail -n 1 "$away/err")"
fi
[ -z "$(ls -A "$away/disk")" ] || fail "apply left $(ls -A "$away/disk")"
tail -n 1 "$away/err" | sed "s|$away||g"

echo "== events run onto a disk that is nearly full, and again with space"
"$python" - "$away/docs.conllu" <<'PYTHON'
import re
import sys
from pathlib import Path

from calibrant.data import dated_documents

text = dated_documents().read_text(encoding="utf-8")
with Path(sys.argv[1]).open("w", encoding="utf-8") as file:
    for copy in range(400):
        file.write(re.sub(r"# newdoc id = (.*)", rf"# newdoc id = \1-{copy}", text))
PYTHON
fallocate -l $((disk * 1024 - 48))K "$away/disk/filler"
calibrant events run "$away/docs.conllu" -o "$away/roomy" --workers 1 2>/dev/null >"$away/told"
code=0
calibrant events run "$away/docs.conllu" -o "$away/disk/store" --workers 1 2>"$away/err" >/dev/null || code=$?
if [ $code = 0 ] || grep -q Traceback "$away/err"; then
    fail "events run ended with $code: $(tail -n 1 "$away/err")"
fi
tail -n 1 "$away/err" | sed "s|$away||g"
rm "$away/disk/filler"
calibrant events run "$away/docs.conllu" -o "$away/disk/store" --workers 1 2>/dev/null >/dev/null
"$python" - "$away/roomy" "$away/disk/store" <<'PYTHON'
import sys

from calibrant.events import EventStore

one, other = (EventStore(path).digest() for path in sys.argv[1:])
print("the store is that of a disk with space" if one == other else "the stores differ")
sys.exit(one != other)
PYTHON
echo "Little memory and a full disk: all as it should be."
