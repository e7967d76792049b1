#!/usr/bin/env bash
# Run the tests that open the report in a browser, with Debian's chromium; installed here if we may.
# Exit code 75: there is no browser, so nothing was checked.
set -euo pipefail
cd "$(dirname "$0")/.."

browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
if ! browser >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update && apt-get install -y --no-install-recommends chromium; } >/dev/null || true
fi
if ! browser >/dev/null; then
    echo "no chromium on the PATH, and none could be installed" >&2
    exit 75
fi
CALIBRANT_BROWSER=$(browser)
export CALIBRANT_BROWSER
exec .venv/bin/python -m pytest -m browser tests/browser "$@"
