#!/usr/bin/env bash
# Build the distributions, calibrant, calibrant-english and calibrant-studies: a source archive, and a wheel made from it. Check
# what the package index will show of them.
#
#   scripts/build.sh FOLDER [VERSION]    writes FOLDER/calibrant, FOLDER/calibrant-english and FOLDER/calibrant-studies; with VERSION, it
#                                        must be theirs
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=$root/.venv/bin/python
folder=$1 version=${2:-}

build() { # build NAME SOURCE
    local log
    rm -rf "${folder:?}/$1"
    log=$("$python" -m build --no-isolation --outdir "$folder/$1" "$2" 2>&1) || { echo "$log" >&2; exit 1; }
    "$python" -m twine check --strict "$folder/$1"/*
    if [ -n "$version" ]; then
        compgen -G "$folder/$1/*-$version-*.whl" >/dev/null || { echo "$1 is not of version $version" >&2; exit 1; }
    fi
}
if [ -n "$version" ] && grep -q '^Repository.*/OWNER/' "$root/pyproject.toml"; then
    echo "pyproject.toml: write the account of the repository in place of OWNER ([project.urls], the one place that names it)" >&2
    exit 1
fi
build calibrant "$root"
build calibrant-english "$root/english"
build calibrant-studies "$root/studies"
