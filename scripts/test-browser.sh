#!/usr/bin/env bash
# Run the tests that open the report in a browser, with Debian's chromium; installed here if we may.
set -euo pipefail
cd "$(dirname "$0")/.."

browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
if ! browser >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        export DEBIAN_FRONTEND=noninteractive
        { apt-get update && apt-get install -y --no-install-recommends chromium; } >/dev/null
    else
        echo "no chromium on the PATH, and no right to install one: install it, then run make browser" >&2
        exit 1
    fi
fi
CALIBRANT_BROWSER=$(browser) exec .venv/bin/python -m pytest -m browser tests/browser "$@"
