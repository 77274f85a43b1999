#!/usr/bin/env bash
# Runs always, and alone says what the job comes to. What the gate has left counts only under the seal that it could
# make of a key that no code of the change has seen; everything else is an incomplete run, which is reported here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=action/python.sh
. "$here/python.sh"
# shellcheck source=action/container.sh
. "$here/container.sh"
# shellcheck source=action/report.sh
. "$here/report.sh"

# `ratiba report` with these words, on the runner or, without Python there, in the container.
report() {
  local code=0
  resume_commands
  if [ -n "$python" ]; then
    "$python" -I "$here/../entrypoint.py" report "$@" || code=$?
  else
    bash "$here/evaluate.sh" report "$@" || code=$?
  fi
  stop_commands
  return "$code"
}

python=$(suitable_python) || python=""
REPORT="" code=0
# The names of files that code of the change has left stand in messages of programs.
stop_commands
remove_leftovers
if [ -d "$HANDED" ]; then
  place=$HANDED
  if [ -z "$python" ]; then place=/run/ratiba/handed; fi
  report --sealed "$place" || code=$?
  # 10 to 13 is a seal that fits, and the exit code under it.
  if [[ $code =~ ^1[0-3]$ ]] && choose_report_folder; then
    rm -rf "$HANDED/step/output"
    deliver_report "$HANDED"
    rm -rf "$HANDED"
    exit $((code - 10))
  fi
  RATIBA_ENDED=unsealed
  if [ -e "$HANDED/code-2" ]; then RATIBA_ENDED=misconfigured; fi
  rm -rf "$HANDED"
fi
export RATIBA_ENDED
code=0
report --unfinished || code=$?
if [ "$code" != 4 ]; then exit "$code"; fi
announce "::error title=Ratiba Eval Gate::Nothing was measured, and without Python 3.11 or newer on this runner no comment could be written. The log above says what happened."
exit 3
