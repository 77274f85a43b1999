#!/usr/bin/env bash
# Chooses the mode on the runner, with nothing installed and nothing pulled. A skip is concluded here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=action/python.sh
. "$here/python.sh"

# For this run's seal. No code of the change has run by now, and none sees a step's outputs.
key=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
printf '::add-mask::%s\n' "$key"
printf 'seal-key=%s\n' "$key" >>"${GITHUB_OUTPUT:-/dev/null}"

if python=$(suitable_python); then
  exec "$python" -I "$here/../entrypoint.py" decide --publish "$@"
fi
echo "This runner has no Python 3.11 or newer, so the mode is decided in the container."
