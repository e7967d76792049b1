#!/usr/bin/env bash
# Make the environment that has the peers (TORCH=1: also those that need PyTorch) and print where it is.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

name=bench${TORCH:+-torch}
venv=$root/.cache/$name
lock=requirements/$name.lock
if [ ! -e "$venv/ready" ] || [ "$lock" -nt "$venv/ready" ] || [ pyproject.toml -nt "$venv/ready" ]; then
    mkdir -p .cache
    scripts/make-venv.sh "$(scripts/find-python.sh)" "$venv" "$lock" --editable >&2
    touch "$venv/ready"
fi
echo "$venv"
