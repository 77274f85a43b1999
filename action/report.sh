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
    announce "::error title=Ratiba Eval Gate::The report cannot be written: report-dir is the workspace itself, or a symbolic link leads it elsewhere. Give the name of a plain folder."
    return 1
  fi
  if [ -e "$REPORT" ] && [ ! -d "$REPORT" ]; then
    announce "::error title=Ratiba Eval Gate::The report cannot be written: report-dir is a file. Give the name of a folder, or of nothing yet."
    return 1
  fi
}

# Brings the step's summary, and outputs if they are the concluding step's own, to the runner's files, and then the finished report to REPORT. The verdict is
# known by now: whatever cannot be written, on a full disk say, is a warning.
deliver_report() {
  local outbox=$1 file missing=()
  append "$outbox/step/output" "${GITHUB_OUTPUT:-}" || warn_about "The step's outputs could not be written to '$GITHUB_OUTPUT'. Make room on that disk."
  append "$outbox/step/summary" "${GITHUB_STEP_SUMMARY:-}" || warn_about "The step's summary could not be written to '$GITHUB_STEP_SUMMARY'. Make room on that disk."
  shopt -s dotglob nullglob
  # What the second workflow and a person need comes first.
  for file in "$outbox/ratiba-report"/{results.json,comment.md} "$outbox/ratiba-report"/*; do
    if [ ! -e "$file" ] || [[ " ${missing[*]} " == *" ${file##*/} "* ]]; then continue; fi
    deliver_file "$file" || missing+=("${file##*/}")
  done
  if [ "${#missing[@]}" -gt 0 ]; then
    warn_about "The report in '$REPORT' is not complete: ${missing[*]//[^A-Za-z0-9._ -]/?} could not be copied there. Free space on that disk, or set report-dir to a folder on another disk."
  fi
}

# Moves one file or folder of the report to REPORT, whole or not at all.
deliver_file() {
  local file=$1 name=${1##*/} staged
  make_report_folder 2>/dev/null && staged=$(mktemp -d "$REPORT/.ratiba-XXXXXXXX" 2>/dev/null) || return
  # The checkout may have brought a folder or a link of that name.
  if cp --recursive "$file" "$staged/$name" 2>/dev/null && rm -rf "${REPORT:?}/$name" &&
    mv --no-target-directory "$staged/$name" "$REPORT/$name"; then
    rm -rf "$staged" "$file"
    give_to_owner "$REPORT/$name"
  else
    rm -rf "$staged"
    return 1
  fi
}

make_report_folder() {
  local first=$REPORT
  if [ -d "$REPORT" ]; then return; fi
  until [ -d "$(dirname "$first")" ]; do first=$(dirname "$first"); done
  mkdir -p "$REPORT" || return
  give_to_owner "$first"
}

# A runner that is root leaves nothing that the workspace's owner could not remove.
give_to_owner() {
  if [ "$(id -u)" = 0 ]; then chown -R --no-dereference --reference "$GITHUB_WORKSPACE" "$1"; fi
}

# Appends a file to one of the runner's, whole or not at all: half an output would fail the step.
append() {
  local before
  if [ ! -s "$1" ] || [ -z "$2" ]; then return 0; fi
  before=$(stat --format %s "$2" 2>/dev/null || echo 0)
  if cat "$1" 2>/dev/null >>"$2"; then return 0; fi
  truncate --size "$before" "$2" 2>/dev/null
  return 1
}

warn_about() {
  announce "::warning title=Ratiba Eval Gate::$1"
}
