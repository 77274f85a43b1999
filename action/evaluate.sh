#!/usr/bin/env bash
# Runs the gate in its container and leaves what it has written to the concluding step, which alone says what the job
# comes to: this step ends with 0 whatever came of the run. With words, it runs them in the container for the concluding
# step of a runner without Python, and its exit code is theirs, or 4 where the container could not be run.
set -euo pipefail
# Before anything else: a signal that comes while no handler is there would be taken for the running command's affair.
CANCELLED=""
trap 'CANCELLED=cancelled' INT TERM
# A runner that was started in the background ignores SIGINT, and so would this shell: it cannot change that itself.
if [[ $(trap -p INT) == "trap -- '' "* ]] && env --default-signal=INT true 2>/dev/null; then
  exec env --default-signal=INT bash "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=action/container.sh
. "$here/container.sh"
# shellcheck source=action/report.sh
. "$here/report.sh"

trap cancel INT TERM
VOLUMES=() ENGINE="" ENGINE_PYTHON="" OWNER="" CONTAINER="" ENDED="" IMAGE="" CODE="" REPORT=""
work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/ratiba-evaluate-XXXXXXXX")
trap 'end_engine; clear_away "$work"' EXIT
export RATIBA_DEADLINE=${RATIBA_DEADLINE:-1500}

# Runs the words in the container; fails where it did not end by itself, or nothing can be had from it.
run_words() {
  prepare_boxes "$work" && require_docker && get_image "$here/.." "$work" || return
  if [ "$1" = gate ]; then prepare_channel "$work" || return; fi
  count_down && create_container "$work" "$@" && start_engine "$work" || return
  run_container
  end_engine
  keep_journals "$work"
  ENDED=${ENDED:-killed}
  [[ $CODE =~ ^(1?[0-3])$ ]] && copy_out "$work" && announce_file "$work/outbox/step/commands"
}

choose_report_folder || exit 2
RATIBA_ENGINE_KEY=$(random_word)
withhold_secrets
# Whatever a build, the daemon or the container prints from here on is nothing that the runner obeys.
stop_commands
if [ $# -gt 0 ]; then
  run_words "$@" || exit 4
  deliver_report "$work/outbox"
  exit "$CODE"
fi
# Of an earlier gate of the job, or from the checkout: neither must pass for what this run has found.
rm -rf "${REPORT:?}/results.json" "$HANDED"
if run_words gate && { [ -z "$CANCELLED" ] || [ -s "$work/outbox/step/seal" ]; }; then
  # The name of an empty file, for which a full disk has room.
  rm -rf "$work/outbox"/code-*
  : >"$work/outbox/code-$CODE"
  mv "$work/outbox" "$HANDED"
else
  echo "ended=$ENDED" >>"${GITHUB_OUTPUT:-/dev/null}" || true
fi
