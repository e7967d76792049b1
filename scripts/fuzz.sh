#!/usr/bin/env bash
# Fuzz one reader in an environment of its own: scripts/fuzz.sh NAME SECONDS (see docs/fuzzing.md).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

venv=$root/.cache/fuzz-venv
lock=requirements/fuzz.lock
if [ ! -e "$venv/ready" ] || [ "$lock" -nt "$venv/ready" ] || [ pyproject.toml -nt "$venv/ready" ]; then
    mkdir -p .cache
    scripts/make-venv.sh "$(scripts/find-python.sh)" "$venv" "$lock" --editable
    touch "$venv/ready"
fi
exec nice -n 5 "$venv/bin/python" fuzz/campaign.py "$1" --seconds "${2:-600}"
