#!/usr/bin/env bash
# The long round: slow tests, property tests with more examples, all others on every other Python there is and
# with the oldest versions that pyproject.toml allows. A Python that is not on this machine is named, not hidden.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
mkdir -p .cache
workers=${WORKERS:-2}
missing=() failed=()

run() { # run NAME PYTHON LOCK [OPTIONS]: the tests in an environment of their own
    local venv=$root/.cache/$1
    echo "== $1"
    scripts/make-venv.sh "$2" "$venv" "$3" --editable
    "$venv/bin/python" -m pytest -n "$workers" --quiet -p no:cacheprovider "${@:4}" || failed+=("$1")
}

echo "== slow tests, property tests with more examples" # the others ran in `make test`
CALIBRANT_HYPOTHESIS=thorough .venv/bin/python -m pytest -n "$workers" --quiet --durations 15 -m "slow or hypothesis" ||
    failed+=("slow tests")

used=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for version in 3.11 3.12 3.13 3.14; do
    if [ $version = "$used" ]; then continue; fi # `make test` runs on it
    if python=$(scripts/find-python.sh $version); then
        run "python-$version" "$python" requirements/dev.lock
    else
        missing+=("$version")
    fi
done

python=$(scripts/find-python.sh 3.11 || scripts/find-python.sh)
.venv/bin/uv pip compile --quiet --python "$python" --resolution lowest-direct --generate-hashes --no-annotate --no-header \
    --extra tree --extra test --extra web --output-file .cache/oldest.lock pyproject.toml
# Old libraries on new ones of their own warn of what is not ours. spaCy, an extra, would raise the others' versions,
# and which checks scikit-learn makes of estimators, what peers compute, and the last digits of goldens, differ by version.
run oldest "$python" .cache/oldest.lock -W default --ignore tests/test_documentation.py \
    --ignore tests/structures/models/test_spacy_tagger.py --ignore src/calibrant/structures/models/spacy_tagger.py \
    --ignore src/calibrant/structures/models/parsing.py --ignore src/calibrant/structures/files/english.py \
    --ignore src/calibrant/structures/models/english.py \
    --ignore tests/recalibrate/test_scikit_learn.py --ignore tests/test_crosscheck.py --ignore tests/goldens

echo "== peers"
scripts/crosscheck.sh || failed+=("peers")

echo "== little memory, a full disk"
scripts/test-pressure.sh || failed+=("little memory, a full disk")

echo "== PySpark"
scripts/test-spark.sh || failed+=("PySpark")

if [ ${#missing[@]} -gt 0 ]; then
    echo "Not tested, since they are not on this machine: Python ${missing[*]}."
fi
if [ ${#failed[@]} -gt 0 ]; then
    printf 'Failed: %s\n' "${failed[@]}"
    exit 1
fi
echo "The long round is through."
