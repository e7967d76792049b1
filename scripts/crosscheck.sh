#!/usr/bin/env bash
# Run the peers and calibrant on the same inputs: those in .venv, those of the benchmarks' environment, then those
# that correct a judge's scores.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore # the peers'

.venv/bin/python -m crosscheck "$@"
venv=$(scripts/bench-venv.sh)
"$venv/bin/python" -m crosscheck "$@"
venv=$(scripts/peers-venv.sh judges)
"$venv/bin/python" -m crosscheck --environment judges "$@"
