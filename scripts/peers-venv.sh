#!/usr/bin/env bash
# Make the environment of a script that compares other libraries on the same draws, and print where it is.
#
#   scripts/peers-venv.sh           scripts/run_coverage.py: libraries that compare runs
#   scripts/peers-venv.sh judges    scripts/judge_peers.py: libraries that correct a judge's scores
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

name=peers${1:+-$1}
venv=$root/.cache/$name lock=requirements/$name.lock
if [ ! -e "$lock" ]; then
    echo "peers-venv: there is no $lock" >&2
    exit 1
fi
if [ ! -e "$venv/ready" ] || [ "$lock" -nt "$venv/ready" ] || [ pyproject.toml -nt "$venv/ready" ]; then
    mkdir -p .cache
    python=$(scripts/find-python.sh)
    # glide needs Python 3.12. With an older one, its columns are empty.
    if [ "$name" = peers-judges ]; then
        for version in 3.14 3.13 3.12; do
            if newer=$(scripts/find-python.sh $version 2>/dev/null); then python=$newer && break; fi
        done
    fi
    scripts/make-venv.sh "$python" "$venv" "$lock" --editable >&2
    touch "$venv/ready"
fi
echo "$venv"
