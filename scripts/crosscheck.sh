#!/usr/bin/env bash
# Run the peers and calibrant on the same inputs, in the environment of the benchmarks, which has the peers.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

venv=$(scripts/bench-venv.sh)
OMP_NUM_THREADS=1 exec "$venv/bin/python" -W ignore -m crosscheck "$@"
