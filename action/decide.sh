#!/usr/bin/env bash
# Chooses the mode on the runner, with nothing installed and nothing pulled. A skip is concluded here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=action/python.sh
. "$here/python.sh"

if python=$(suitable_python); then
  exec "$python" -I "$here/../entrypoint.py" decide --publish "$@"
fi
echo "This runner has no Python 3.11 or newer, so the mode is decided in the container."
