#!/usr/bin/env bash
# Make the environment of scripts/run_coverage.py, which has the peers that compare runs, and print where it is.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

venv=$root/.cache/peers lock=requirements/peers.lock
if [ ! -e "$venv/ready" ] || [ "$lock" -nt "$venv/ready" ] || [ pyproject.toml -nt "$venv/ready" ]; then
    mkdir -p .cache
    scripts/make-venv.sh "$(scripts/find-python.sh)" "$venv" "$lock" --editable >&2
    touch "$venv/ready"
fi
echo "$venv"
