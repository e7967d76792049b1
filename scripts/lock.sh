#!/usr/bin/env bash
# Resolve pyproject.toml into requirements/*.lock: one universal file each, with Python markers and hashes.
set -euo pipefail
cd "$(dirname "$0")/.."

uv=.venv/bin/uv
if [ ! -x $uv ]; then uv=$(command -v uv); fi
compile() {
    "$uv" pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-annotate --no-header \
        --python-version 3.11 ${UPGRADE:+--upgrade} pyproject.toml --extra tree --extra "$1" \
        --output-file "requirements/$1.lock"
}
for extra in dev bench bench-torch fuzz peers peers-judges; do compile $extra; done
