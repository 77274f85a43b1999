# shellcheck shell=bash
# Sourced: brings what the container has written to the places that the runner knows.

# Sets REPORT to the report directory on the runner; fails when the checkout makes it anything but a folder.
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
  if [ -e "$REPORT" ] && [ ! -d "$REPORT" ]; then
    printf '::error title=Ratiba Eval Gate::%s\n' "The report cannot be written: report-dir is a file. Give the name of a folder, or of nothing yet."
    return 1
  fi
}

# Copies a finished report to REPORT, and the step's outputs and summary to the runner's files.
deliver_report() {
  local outbox=$1 file
  shopt -s dotglob nullglob
  for file in "$outbox/ratiba-report"/*; do
    make_report_folder
    # The checkout may have brought a folder or a link of that name.
    rm -rf "${REPORT:?}/${file##*/}"
    cp --recursive "$file" "$REPORT/"
    give_to_owner "$REPORT/${file##*/}"
  done
  append "$outbox/step/output" "${GITHUB_OUTPUT:-}"
  append "$outbox/step/summary" "${GITHUB_STEP_SUMMARY:-}"
}

make_report_folder() {
  local first=$REPORT
  if [ -d "$REPORT" ]; then return; fi
  until [ -d "$(dirname "$first")" ]; do first=$(dirname "$first"); done
  mkdir -p "$REPORT"
  give_to_owner "$first"
}

# A runner that is root leaves nothing that the workspace's owner could not remove.
give_to_owner() {
  if [ "$(id -u)" = 0 ]; then chown -R --no-dereference --reference "$GITHUB_WORKSPACE" "$1"; fi
}

append() {
  if [ -f "$1" ] && [ -n "$2" ]; then cat "$1" >>"$2"; fi
}
