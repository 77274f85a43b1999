#!/usr/bin/env bash
# Runs a command of the gate in its container, `gate` unless other words are given. Its exit code is the command's;
# where the gate could not be run at all it is 0, and the concluding step, which knows the mode, says what that means.
# With other words this is the concluding step, and it is 4.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=action/container.sh
. "$here/container.sh"
# shellcheck source=action/report.sh
. "$here/report.sh"

VOLUMES=() CONTAINER="" ENDED="" IMAGE="" CODE="" REPORT=""
work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/ratiba-evaluate-XXXXXXXX")
trap 'clear_away "$work"' EXIT
export RATIBA_DEADLINE=${RATIBA_DEADLINE:-1500}

# The exit code counts once there is a report, or on a full disk the outputs at least; a mistake on the command line
# leaves none.
has_concluded() {
  case $CODE in
    0 | 1 | 3) [ -f "$work/outbox/ratiba-report/results.json" ] || [ -s "$work/outbox/step/output" ] ;;
    *) [ "$CODE" = 2 ] ;;
  esac
}

choose_report_folder || exit 2
# Of an earlier gate of the job, or from the checkout: it must not pass for what this run has found.
rm -rf "${REPORT:?}/results.json"
if prepare_boxes "$work" && require_docker && get_image "$here/.." "$work" && count_down && create_container "$work" "${@:-gate}"; then
  run_container
  if copy_out "$work" && has_concluded; then
    deliver_report "$work/outbox"
    exit "$CODE"
  fi
  ENDED=${ENDED:-killed}
fi
echo "ended=$ENDED" >>"${GITHUB_OUTPUT:-/dev/null}" || true
if [ $# -gt 0 ]; then exit 4; fi
