#!/usr/bin/env bash
# Measure which lines and branches of the numbers and of the readers the tests run: metrics, recalibrate, io.
# Compiled kernels are not seen. coverage comes into a folder of its own, since no other task needs it.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=.cache/coverage
mkdir -p "$folder"
[ -d "$folder/lib/pytest_cov" ] ||
    .venv/bin/uv pip install --quiet --python .venv/bin/python --target "$folder/lib" --no-deps coverage==7.17.5 pytest-cov==7.1.0
cat >"$folder/settings" <<'END'
[run]
branch = True
concurrency = thread,multiprocessing
source = calibrant.metrics,calibrant.recalibrate,calibrant.io
data_file = .cache/coverage/data
[report]
exclude_also =
    if TYPE_CHECKING:
    \.\.\.$
END
export PYTHONPATH=$PWD/$folder/lib${PYTHONPATH:+:$PYTHONPATH}
.venv/bin/python -m pytest -q -n "${WORKERS:-2}" -p pytest_cov --cov --cov-config="$folder/settings" \
    --cov-report="json:$folder/report.json" tests/{metrics,recalibrate,io,verbs,records,cli,results} tests/test_*.py \
    src/calibrant/{metrics,recalibrate,io} "$@" || echo "some tests failed" >&2
.venv/bin/python - "$folder/report.json" <<'END'
import json
import sys
from collections import Counter

sums: dict[str, Counter[str]] = {}
for file, found in json.load(open(sys.argv[1], encoding="utf-8"))["files"].items():
    sums.setdefault(file.split("calibrant/")[-1].split("/")[0], Counter()).update(
        {name: value for name, value in found["summary"].items() if name.startswith(("covered_", "num_"))}
    )
print("| block | lines, % | branches, % |\n|---|---:|---:|")
for block, counts in sorted(sums.items()):
    lines = 100 * counts["covered_lines"] / counts["num_statements"]
    branches = 100 * counts["covered_branches"] / counts["num_branches"]
    print(f"| `{block}` | {lines:.1f} | {branches:.1f} |")
END
