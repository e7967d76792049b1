#!/usr/bin/env bash
# Build both distributions, install the wheel with its core dependencies alone, and use it far from the work tree.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=$root/.venv/bin/python
uv=$root/.venv/bin/uv

away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
"$root/scripts/build.sh" "$away/dist" >"$away/build" 2>&1 || { cat "$away/build" >&2; exit 1; }
wheel=$(echo "$away"/dist/calibrant/*.whl)

# The core's versions are those of the lock: nothing from the extras comes in.
"$uv" pip compile --quiet --generate-hashes --no-annotate --no-header --constraints "$root/requirements/dev.lock" \
    --python "$python" --output-file "$away/core.lock" "$root/pyproject.toml" 2>/dev/null ||
    cp "$root/requirements/dev.lock" "$away/core.lock"
"$root/scripts/make-venv.sh" "$python" "$away/venv" "$away/core.lock"
"$away/venv/bin/python" -m pip install --quiet --no-deps --no-index "$wheel"

cd "$away"
unset CALIBRANT_DATA PYTHONPATH
export MPLCONFIGDIR=$away/matplotlib NUMBA_CACHE_DIR=$away/numba
bin=$away/venv/bin
"$bin/python" -I -c "import calibrant; print('import calibrant', calibrant.__version__)"
"$bin/calibrant" --version
"$bin/calibrant" measure --help >/dev/null
"$bin/calibrant" demo >demo.txt
for part in "1. A model that looks good" "4. The rare tags" "5. Counts over time" "What to type next"; do
    grep -qF "$part" demo.txt || { echo "the demo does not say: $part" >&2; cat demo.txt >&2; exit 1; }
done
grep -q "<svg" calibrant-demo.html
"$bin/calibrant" demo --json | "$bin/python" -I -c "import json, sys; print(len(json.load(sys.stdin)['steps']), 'steps')"
tail -n 3 demo.txt

# What the core does without says how to get it.
printf '# newdoc id = a\n1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tran\trun\tVERB\t_\t_\t0\troot\t_\t_\n\n' >text.conllu
said=$("$bin/calibrant" tag train text.conllu -o x.model 2>&1) && { echo "a tagger was trained without conllu" >&2; exit 1; }
[[ $said == *"pip install 'calibrant[structures]'"* ]] || { echo "$said" >&2; exit 1; }

# The studies are a distribution of their own: without it their command says what to install, with it a study runs.
said=$("$bin/calibrant" study sentiment 2>&1) && { echo "a study ran without its distribution" >&2; exit 1; }
[[ $said == *"pip install calibrant-studies"* ]] || { echo "$said" >&2; exit 1; }
"$away/venv/bin/python" -m pip install --quiet --no-deps --no-index "$away"/dist/calibrant-studies/*.whl
"$bin/calibrant" study sentiment | head -n 1
