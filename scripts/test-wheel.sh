#!/usr/bin/env bash
# Build the distributions, install the wheel with its core dependencies alone, and use it far from the work tree;
# then a command of each wing.
#
#   scripts/test-wheel.sh [PYTHON]       installs into an environment of this Python
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=$root/.venv/bin/python
uv=$root/.venv/bin/uv
wanted=${1:-$python}

away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
"$root/scripts/build.sh" "$away/dist" >"$away/build" 2>&1 || { cat "$away/build" >&2; exit 1; }
wheel=$(echo "$away"/dist/calibrant/*.whl)

install() { # install LOCK [OPTIONS]: what pyproject.toml asks for, in the versions of the lock
    "$uv" pip compile --quiet --generate-hashes --no-annotate --no-header --constraints "$root/requirements/dev.lock" \
        --python "$wanted" --output-file "$away/$1" "$root/pyproject.toml" "${@:2}" 2>/dev/null ||
        { echo "The dependencies were not resolved alone: the whole lock is installed." >&2; cp "$root/requirements/dev.lock" "$away/$1"; }
    "$root/scripts/make-venv.sh" "$wanted" "$away/venv" "$away/$1"
}
install core.lock # nothing from the extras comes in
"$away/venv/bin/python" -m pip install --quiet --no-deps --no-index "$wheel"

cd "$away"
unset CALIBRANT_DATA PYTHONPATH
export MPLCONFIGDIR=$away/matplotlib NUMBA_CACHE_DIR=$away/numba
bin=$away/venv/bin
"$bin/python" -I -c "import calibrant; print('import calibrant', calibrant.__version__)"
"$bin/calibrant" --version
"$bin/calibrant" measure --help >/dev/null
"$bin/calibrant" demo >demo.txt
for part in "1. A model that looks good" "4. The rare tags" "5. Counts over time" "Your predictions"; do
    grep -qF "$part" demo.txt || { echo "the demo does not say: $part" >&2; cat demo.txt >&2; exit 1; }
done
# Without the extra there is a page, and no figure; with it there are figures.
grep -qF ".[plots]" <("$bin/calibrant" plot "$("$bin/python" -I -c "import calibrant.data as d; print(d.predictions('dated', 'naive-bayes'))")" -o x.svg 2>&1)
if grep -q "<svg" calibrant-demo.html; then echo "figures were drawn without matplotlib" >&2; exit 1; fi
install plots.lock --extra plots
"$bin/calibrant" demo >demo.txt
grep -q "<svg" calibrant-demo.html
"$bin/calibrant" demo --json | "$bin/python" -I -c "import json, sys; print(len(json.load(sys.stdin)['steps']), 'steps')"
tail -n 3 demo.txt

# What the core does without says how to get it.
printf '# newdoc id = a\n1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tran\trun\tVERB\t_\t_\t0\troot\t_\t_\n\n' >text.conllu
said=$("$bin/calibrant" tag train text.conllu -o x.model 2>&1) && { echo "a tagger was trained without conllu" >&2; exit 1; }
[[ $said == *"pip install '.[structures]'"* ]] || { echo "$said" >&2; exit 1; }

# The studies are a distribution of their own: without it their command says what to install, with it a study runs.
said=$("$bin/calibrant" study sentiment 2>&1) && { echo "a study ran without its distribution" >&2; exit 1; }
[[ $said == *"pip install ./studies"* ]] || { echo "$said" >&2; exit 1; }
"$away/venv/bin/python" -m pip install --quiet --no-deps --no-index "$away"/dist/calibrant-studies/*.whl
"$bin/calibrant" study sentiment | head -n 1

# A command of each wing, with the extra that tagged text needs.
install structures.lock --extra structures
printf '# newdoc id = %s\n# date = 2001-02-03\n1\tIran\tIran\tPROPN\t_\t_\t2\tnsubj\t_\t_\n2\tran\trun\tVERB\t_\t_\t0\troot\t_\t_\n\n' a b c d >texts.conllu
"$bin/calibrant" tag train texts.conllu -o upos.model
"$bin/calibrant" tag predict upos.model texts.conllu -o tags.parquet
texts=$("$bin/python" -I -c "import calibrant.data; print(calibrant.data.dated_documents())")
"$bin/calibrant" events run "$texts" -o store --workers 1 | tail -n 1
"$bin/calibrant" events table store --by quarter | head -n 1

# Raw text needs the English models: without them the command says what to install, with them it finds events.
mkdir news
echo 'Israel attacked Egypt on Monday. Its planes bombed two airfields.' >"news/1967-06-05 war.txt"
said=$("$bin/calibrant" events run news -o raw --workers 1 2>&1) && { echo "raw text was parsed without models" >&2; exit 1; }
[[ $said == *"./english"* ]] || { echo "$said" >&2; exit 1; }
"$away/venv/bin/python" -m pip install --quiet --no-deps --no-index "$away"/dist/calibrant-english/*.whl
install events.lock --extra spacy # the extra events, without the models, which no index has yet
"$bin/calibrant" events run news -o raw --workers 1 | tail -n 1
"$bin/calibrant" events table raw --by year | grep Israel
printf 'item,annotator,label\n1,a,x\n1,b,x\n2,a,x\n2,b,y\n3,a,y\n3,b,y\n' >labels.csv
"$bin/calibrant" agree labels.csv | head -n 1
"$bin/calibrant" estimate "$("$bin/python" -I -c "import calibrant.data as d; print(d.predictions('dated', 'naive-bayes'))")" |
    head -n 1
