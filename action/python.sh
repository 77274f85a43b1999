# shellcheck shell=bash
# Sourced: finds the runner's Python.

# Prints a Python of 3.11 or newer; fails when the runner has none.
suitable_python() {
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$name" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      printf '%s\n' "$name"
      return
    fi
  done
  return 1
}
