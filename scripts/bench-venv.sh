#!/usr/bin/env bash
# Make the environment that has the peers and print where it is. TORCH=1 adds those that need PyTorch, in gigabytes;
# TORCH=cpu does with PyTorch's build for processors, of the version in the lock. That build is not on the package
# index: uv fetches it from where PyTorch publishes it, so that it is the one file without a hash in the lock.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

name=bench${TORCH:+-torch}
lock=requirements/$name.lock
if [ "${TORCH:-}" = cpu ]; then name=bench-torch-cpu; fi
venv=$root/.cache/$name
if [ ! -e "$venv/ready" ] || [ "$lock" -nt "$venv/ready" ] || [ pyproject.toml -nt "$venv/ready" ]; then
    mkdir -p .cache
    if [ "${TORCH:-}" = cpu ]; then
        version=$(sed -n 's/^torch==\([^ ]*\).*/\1/p' "$lock")
        # An entry of the lock is a line that begins with a name, and the indented lines after it.
        awk '/^[^ ]/ { kept = !/^(torch|triton|cuda-|nvidia-)/ || /^torchmetrics==/ } kept' "$lock" >".cache/$name.lock"
        lock=.cache/$name.lock
    fi
    scripts/make-venv.sh "$(scripts/find-python.sh)" "$venv" "$lock" --editable >&2
    if [ "${TORCH:-}" = cpu ]; then
        VIRTUAL_ENV=$venv "$venv/bin/uv" pip install --quiet --torch-backend cpu --no-deps "torch==$version" >&2
    fi
    touch "$venv/ready"
fi
echo "$venv"
