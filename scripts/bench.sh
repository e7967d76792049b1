#!/usr/bin/env bash
# Run the benchmarks in an environment of their own, which has the peers.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

name=bench${TORCH:+-torch}
venv=$root/.cache/$name
lock=requirements/$name.lock
if [ ! -e "$venv/ready" ] || [ "$lock" -nt "$venv/ready" ] || [ pyproject.toml -nt "$venv/ready" ]; then
    mkdir -p .cache
    scripts/make-venv.sh "$(scripts/find-python.sh)" "$venv" "$lock" --editable
    touch "$venv/ready"
fi
exec "$venv/bin/python" benchmarks/run.py "$@"
