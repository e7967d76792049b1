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

# A summary of a job has little room: tables are cut to equally many rows until the text is short enough.
shorten() {
    local most=48 rows lines
    lines=$(wc -l <"$1")
    if [ "$lines" -le $most ]; then
        cat "$1" >"$2"
        return
    fi
    for rows in 30 20 10 5 3 1; do
        awk -v most=$rows '
            function close_table() {
                if (row > most + 2) printf "\n... and %d more rows\n", row - most - 2
                row = 0
            }
            /^\|/ { row++; if (row <= most + 2) print; next }
            { close_table(); print }
            END { close_table() }' "$1" >"$2"
        [ "$(wc -l <"$2")" -gt $most ] || break
    done
    local shown all
    head -n $most "$2" >"$2.cut"
    mv "$2.cut" "$2"
    all=$(grep -c '^|' "$1" || true)
    shown=$(grep -c '^|' "$2" || true)
    printf '\nLeft out: %d rows of tables. The whole result (%d lines) is in the log of this step, and in the file of the output `result`.\n' \
        $((all - shown)) "$lines" >>"$2"
}

run() {
    [[ ${CALIBRANT_COMMAND:-} =~ ^[a-z]+([\ -][a-z]+)?$ ]] ||
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
            sed 's/^/    /' "$folder/messages" | head -n 5 # an indented block is shown as it is
            local more
            more=$(($(wc -l <"$folder/messages") - 5))
            [ "$more" -le 0 ] || echo "    ... and $more more lines, in the log of this step"
            echo
        fi
        shorten "$folder/result.md" "$folder/short.md"
        cat "$folder/short.md"
    } >"$folder/summary.md"
    cat "$folder/summary.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
    # The folder of a job's temporary files is emptied when the job ends; an artifact can take the file before.
    local whole
    whole=$(mktemp "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/calibrant-XXXXXX")
    cat "$folder/result.md" >"$whole"
    {
        echo "exit-code=$code"
        echo "result=$whole"
    } >>"${GITHUB_OUTPUT:-/dev/null}"
    rm -rf "$folder"
    exit $code
}

case ${1:-} in
install) install ;;
run) run ;;
*) refuse "Say what to do: install or run." ;;
esac
