#!/usr/bin/env bash
# Make a virtual environment from a lock, every file checked against its hash.
#
#   scripts/make-venv.sh PYTHON DIRECTORY LOCK [--editable]
#
# uv installs (it is pinned in requirements/dev.lock); where uv cannot reach the package index but
# pip can, because pip is configured for a mirror, pip does.
set -euo pipefail

python=$1 directory=$2 lock=$3 editable=${4:-}
root=$(cd "$(dirname "$0")/.." && pwd)

if [ ! -x "$directory/bin/python" ] || ! "$directory/bin/python" -c 'import pip' 2>/dev/null; then
    rm -rf "$directory"
    "$python" -m venv "$directory" || {
        echo "make-venv: $python cannot make virtual environments; on Debian: apt-get install python3-venv" >&2
        exit 1
    }
fi
# One of several `make`s at once works; the others wait.
exec 9>"$directory/lock"
if command -v flock >/dev/null; then flock 9; fi

pip="$directory/bin/python -m pip --disable-pip-version-check --quiet"
if [ ! -x "$directory/bin/uv" ]; then
    sed -n '/^uv==/,/[^\\]$/p' "$root/requirements/dev.lock" >"$directory/uv.lock"
    $pip install --require-hashes --no-deps -r "$directory/uv.lock"
fi
if ! VIRTUAL_ENV=$directory "$directory/bin/uv" pip install --quiet --compile-bytecode --no-deps --require-hashes -r "$lock"; then
    echo "make-venv: uv could not install; trying pip" >&2
    $pip install --require-hashes --no-deps -r "$lock"
fi
if [ "$editable" = --editable ]; then
    $pip install --no-deps --no-build-isolation --no-index --editable "$root" --editable "$root/english" --editable "$root/studies"
fi
