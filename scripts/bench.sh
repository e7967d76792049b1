#!/usr/bin/env bash
# Run the benchmarks in an environment of their own, which has the peers.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

venv=$(scripts/bench-venv.sh)
exec "$venv/bin/python" benchmarks/run.py "$@"
