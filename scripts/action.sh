#!/usr/bin/env bash
# The steps of action.yml. Inputs come in environment variables; none of them is evaluated by the shell.
#
#   scripts/action.sh install    install calibrant: CALIBRANT_VERSION is source, none, or a version
#   scripts/action.sh run        run CALIBRANT_COMMAND with the lines of CALIBRANT_ARGUMENTS and CALIBRANT_FAIL_IF,
#                                and append its result to GITHUB_STEP_SUMMARY
set -euo pipefail

refuse() {
    echo "::error title=calibrant::$1"
    exit 2
}

install() {
    # -P: the working directory is the checkout, and no pip.py in it runs instead of pip.
    case ${CALIBRANT_VERSION:-source} in
    none) ;;
    source) python -P -m pip install --quiet --disable-pip-version-check "$(cd "$(dirname "$0")/.." && pwd)" ;;
    *)
        [[ $CALIBRANT_VERSION =~ ^[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?$ ]] ||
            refuse "The input version is no version: give a number such as 0.1.0, source, or none."
        python -P -m pip install --quiet --disable-pip-version-check "calibrant==$CALIBRANT_VERSION"
        ;;
    esac
}

run() {
    [[ ${CALIBRANT_COMMAND:-} =~ ^[a-z]+(\ [a-z]+)?$ ]] ||
        refuse "The input command is no command of calibrant: give one or two words such as measure or tag eval."
    local words=() line code=0 folder
    read -ra words <<<"$CALIBRANT_COMMAND"
    while IFS= read -r line; do
        line=${line%$'\r'}
        [[ -z ${line//[[:space:]]/} ]] || words+=("$line")
    done <<<"${CALIBRANT_ARGUMENTS:-}"
    while IFS= read -r line; do
        line=${line%$'\r'}
        [[ -z ${line//[[:space:]]/} ]] || words+=("--fail-if=$line")
    done <<<"${CALIBRANT_FAIL_IF:-}"

    folder=$(mktemp -d)
    # In Bash before 4.4, an empty array is an unset variable; this one has the command.
    calibrant "${words[@]}" --format md >"$folder/result.md" 2>"$folder/messages" || code=$?

    # Names in the data must not be read as commands of the workflow.
    local token
    token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    echo "::stop-commands::$token"
    cat "$folder/result.md" "$folder/messages"
    echo "::$token::"
    if [ $code != 0 ]; then
        # Percent signs and line ends are escaped as workflow commands need it.
        echo "::error title=calibrant::$(sed -e 's/%/%25/g' "$folder/messages" | tr -d '\r' | awk '{printf "%s%s", s, $0; s = "%0A"}')"
    fi
    {
        case $code in
        0) echo "### calibrant $CALIBRANT_COMMAND: passed" ;;
        3) echo "### calibrant $CALIBRANT_COMMAND: failed" ;;
        *) echo "### calibrant $CALIBRANT_COMMAND: error $code" ;;
        esac
        echo
        if [ -s "$folder/messages" ]; then
            sed 's/^/    /' "$folder/messages" # an indented block is shown as it is
            echo
        fi
        cat "$folder/result.md"
    } >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
    echo "exit-code=$code" >>"${GITHUB_OUTPUT:-/dev/null}"
    rm -rf "$folder"
    exit $code
}

case ${1:-} in
install) install ;;
run) run ;;
*) refuse "Say what to do: install or run." ;;
esac
