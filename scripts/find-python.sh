#!/usr/bin/env bash
# Print the path of a Python that can run calibrant, or of one given version.
#
#   scripts/find-python.sh [3.11|3.12|3.13|3.14]
#
# Looks at python3, then at python3.X on the PATH, then at pyenv's versions.
set -euo pipefail

wanted=${1:-}
check="import ensurepip, sys, venv; v = '%d.%d' % sys.version_info[:2]
sys.exit(v != '$wanted' if '$wanted' else not (3, 11) <= sys.version_info[:2] < (3, 15))"

candidates=(python3 python)
for version in ${wanted:-3.14 3.13 3.12 3.11}; do
    candidates+=("python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python)
done
for candidate in "${candidates[@]}"; do
    if path=$(command -v "$candidate") && "$path" -c "$check" 2>/dev/null; then
        "$path" -c 'import sys; print(sys.executable)'
        exit 0
    fi
done
echo "no Python ${wanted:-3.11 to 3.14} found on the PATH" >&2
exit 1
