#!/usr/bin/env bash
# The tests of tallies inside engines on PySpark, in an environment of its own: PySpark wants pandas < 3.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
if ! command -v java > /dev/null; then
    echo "Not tested, since there is no Java: PySpark."
    exit 0
fi
venv=$root/.cache/spark
if [ ! -e "$venv/ready" ] || [ pyproject.toml -nt "$venv/ready" ]; then
    mkdir -p .cache
    "$(scripts/find-python.sh)" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --editable '.[duckdb,plots,spark]' 'pandas<3' polars pytest hypothesis
    touch "$venv/ready"
fi
# Its warnings, and those of its Python for the libraries of Spark, are not ours.
PYSPARK_PYTHON=$venv/bin/python "$venv/bin/python" -m pytest --quiet -p no:cacheprovider -W default \
    tests/io/test_engines.py -k "pyspark or duckdb" "$@"
