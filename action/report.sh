# shellcheck shell=bash
# Sourced: brings what the container has written to the places that the runner knows.

# Sets REPORT to the report directory on the runner; fails when a link of the checkout leads it elsewhere.
choose_report_folder() {
  local given=${RATIBA_REPORT_DIR:-ratiba-report} workspace
  workspace=$(realpath "$GITHUB_WORKSPACE")
  case $given in
    /*) REPORT=$given ;;
    *) REPORT=$workspace/$given ;;
  esac
  REPORT=$(realpath --canonicalize-missing --no-symlinks "$REPORT")
  if [ "$REPORT" != "$(realpath --canonicalize-missing "$REPORT")" ] || [ "$REPORT" = "$workspace" ]; then
    printf '::error title=Ratiba Eval Gate::%s\n' "The report cannot be written: report-dir is the workspace itself, or a symbolic link leads it elsewhere. Give the name of a plain folder."
    return 1
  fi
}

# Copies a finished report to REPORT, and the step's outputs and summary to the runner's files.
deliver_report() {
  local outbox=$1
  if [ -d "$outbox/ratiba-report" ]; then
    mkdir -p "$REPORT"
    cp --recursive --remove-destination "$outbox/ratiba-report/." "$REPORT/"
    # A runner that is root leaves nothing that the workspace's owner could not remove.
    if [ "$(id -u)" = 0 ]; then chown -R --reference "$GITHUB_WORKSPACE" "$REPORT"; fi
  fi
  append "$outbox/step/output" "${GITHUB_OUTPUT:-}"
  append "$outbox/step/summary" "${GITHUB_STEP_SUMMARY:-}"
}

append() {
  if [ -f "$1" ] && [ -n "$2" ]; then cat "$1" >>"$2"; fi
}
