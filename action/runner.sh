# shellcheck shell=bash
# Sourced: what passes between a step and the runner: commands to it, and its signals. Why it is done in this way is in
# docs/decisions/0029-runner-log-and-signals.md.

# The runner obeys nothing while this is not empty; printing it in the form of a command ends that.
STOPPED=""
# Set by the first signal; whoever is about to begin something looks here first.
CANCELLED=${CANCELLED:-}
# The process group that a signal ends, and the client of the gate's container.
WORKING="" CLIENT=""

# Has the runner obey no line of this step any more, but those that `announce` prints. It reads standard error and
# standard output in no order, so from here on there is one stream.
stop_commands() {
  exec 2>&1
  STOPPED=$(random_word)
  printf '::stop-commands::%s\n' "$STOPPED"
}

# Ends that for good.
resume_commands() {
  if [ -n "$STOPPED" ]; then printf '\n::%s::\n' "$STOPPED"; fi
  STOPPED=""
}

# Gives the runner commands, one a line, in a single write: nothing that another process prints can come between.
announce() {
  local next commands
  printf -v commands '%s\n' "$@"
  if [ -z "$STOPPED" ]; then
    printf '%s' "$commands"
    return
  fi
  next=$(random_word)
  printf '\n::%s::\n%s::stop-commands::%s\n' "$STOPPED" "$commands" "$next"
  STOPPED=$next
}

# Fails rather than print nothing: an empty word would stop no command.
random_word() {
  local word
  word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  [ "${#word}" = 32 ] && printf '%s' "$word"
}

# Prints the commands of a file that the gate has written, of those kinds that can do no harm: whatever else came to
# stand there is dropped.
announce_file() {
  local commands
  if [ ! -f "$1" ] || [ -L "$1" ]; then return 0; fi
  commands=$(head --bytes 200000 "$1" | tr -d '\000' | tr '\r' ' ' |
    LC_ALL=C grep -aE '^::(error|warning|notice)( [a-zA-Z]+=[^:]*)?::' | head --lines 50) || return 0
  announce "$commands"
}

# Handles the first signal of the runner, and every further one in the same way.
cancel() {
  CANCELLED=cancelled
  end_work
}

end_work() {
  if [ -n "$CLIENT" ]; then
    end_container &
  elif [ -n "$WORKING" ]; then
    kill -TERM -- "-$WORKING" 2>/dev/null || true
  fi
}

# Sends SIGTERM until the container has ended: its first process drops what comes before it has a handler.
end_container() {
  while kill -0 "$CLIENT" 2>/dev/null; do
    docker kill --signal TERM "$CONTAINER" >/dev/null 2>&1 || true
    sleep 0.3
  done
}

# Runs a command that a signal ends at once, with all that it has started; it fails then. In the foreground it would go
# on: bash waits for it, and takes a signal for the command's own affair when that ends well.
interruptible() {
  local code
  if [ -n "$CANCELLED" ]; then return 1; fi
  set -m
  "$@" &
  WORKING=$!
  set +m
  if [ -n "$CANCELLED" ]; then end_work; fi
  while :; do
    code=0
    wait "$WORKING" || code=$?
    kill -0 "$WORKING" 2>/dev/null || break
  done
  WORKING=""
  if [ -n "$CANCELLED" ]; then return 1; fi
  return "$code"
}
