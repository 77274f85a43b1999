# shellcheck shell=bash
# shellcheck disable=SC2034 # CODE, ENDED and REPORT belong to the script that sources this
# Sourced: the container that the gate runs in. What it may do, and why, is in docs/container.md.

# shellcheck source=action/runner.sh
. "$(dirname "${BASH_SOURCE[0]}")/runner.sh"
# shellcheck source=action/python.sh
. "$(dirname "${BASH_SOURCE[0]}")/python.sh"

# The variables that enter the container; whatever is named in neither list stays outside.
readonly ENTERING=(
  RATIBA_CONFIG RATIBA_SCENARIOS RATIBA_RULES RATIBA_MODE RATIBA_ENFORCE RATIBA_NAME RATIBA_PULL_REQUEST
  RATIBA_EVAL_BUDGET_USD RATIBA_EVAL_MONTHLY_BUDGET_USD RATIBA_LLM RATIBA_LANGFUSE_HOST RATIBA_OTLP_ENDPOINT
  RATIBA_BASELINE RATIBA_SHARD RATIBA_SHARDS RATIBA_COMMENT RATIBA_DEADLINE
  RATIBA_LANGFUSE_SECONDS RATIBA_OTLP_SECONDS RATIBA_ENDED RATIBA_DEBUG
  GITHUB_ACTIONS GITHUB_API_URL GITHUB_SERVER_URL GITHUB_REPOSITORY GITHUB_RUN_ID GITHUB_RUN_ATTEMPT
  GITHUB_EVENT_NAME GITHUB_SHA GITHUB_REF_NAME
  NO_PROXY no_proxy
)
# Those that are secrets, or may hold one as a user and password. They arrive on standard input: a container's
# variables stand in `docker inspect`. The seal's key comes last, so that what breaks off leaves a run unsealed.
readonly SECRET=(
  RATIBA_DATABASE_URL RATIBA_LEDGER_URL RATIBA_ANTHROPIC_API_KEY RATIBA_OPENAI_API_KEY RATIBA_PROVIDER_KEYS
  RATIBA_ANTHROPIC_BASE_URL RATIBA_OPENAI_BASE_URL RATIBA_LANGFUSE_PUBLIC_KEY RATIBA_LANGFUSE_SECRET_KEY
  RATIBA_OTLP_HEADERS RATIBA_SLACK_WEBHOOK_URL RATIBA_WEBHOOK_URL RATIBA_WEBHOOK_SECRET RATIBA_JOURNAL_KEY
  RATIBA_GITHUB_TOKEN HTTP_PROXY HTTPS_PROXY http_proxy https_proxy RATIBA_ENGINE_KEY RATIBA_SEAL_KEY
)
# Names of those that the runner must mask; it knows the proxies itself, and an address is no secret.
readonly MASKED=(
  RATIBA_DATABASE_URL RATIBA_LEDGER_URL RATIBA_ANTHROPIC_API_KEY RATIBA_OPENAI_API_KEY RATIBA_PROVIDER_KEYS
  RATIBA_LANGFUSE_PUBLIC_KEY RATIBA_LANGFUSE_SECRET_KEY RATIBA_OTLP_HEADERS
  RATIBA_SLACK_WEBHOOK_URL RATIBA_WEBHOOK_URL RATIBA_WEBHOOK_SECRET RATIBA_JOURNAL_KEY RATIBA_GITHUB_TOKEN
  RATIBA_ENGINE_KEY RATIBA_SEAL_KEY
)
readonly IMAGE_USER=1001
# Where the gate finds the socket of the program that starts containers of the system under test.
readonly CHANNEL=/run/ratiba-engine
# What the code of each side of a change may use of the memory and of the names in it.
readonly ROOM=exec,nosuid,nodev,mode=1777,size=40%,nr_inodes=1m
# Where the evaluating step leaves for the concluding one what the container has written.
readonly HANDED=${RUNNER_TEMP:-/tmp}/ratiba-handed
# Where the workflow puts the sealed write-ahead journals of earlier attempts of this run, and finds this one's.
readonly EARLIER_JOURNALS=${RUNNER_TEMP:-/tmp}/ratiba-earlier-journals
readonly JOURNALS=${RUNNER_TEMP:-/tmp}/ratiba-journal

# Has the runner mask the secrets, and keeps them from every program that this shell starts; a proxy without a user is
# none.
withhold_secrets() {
  local name line
  for name in "${MASKED[@]}"; do
    while IFS= read -r line; do
      line=${line//%/%25}
      if [ -n "${line//[[:space:]]/}" ]; then printf '::add-mask::%s\n' "${line//$'\r'/%0D}"; fi
    done <<<"${!name:-}"
  done
  for name in "${SECRET[@]}"; do
    if [[ $name != *_[pP][rR][oO][xX][yY] || ${!name:-} == *@* ]]; then export -n "${name?}"; fi
  done
}

# Prints the secrets for the container: NAME=value, each ended by a NUL byte. No program is started for it.
secrets() {
  local name
  for name in "${SECRET[@]}"; do
    if [ -n "${!name:-}" ]; then printf '%s=%s\0' "$name" "${!name}"; fi
  done
}

# Says why nothing can be run, one line; fails. The first argument is a word that the concluding step knows. What a
# signal has ended is no fault of what was ended.
give_up() {
  ENDED=${CANCELLED:-$1}
  if [ -z "$CANCELLED" ]; then announce "::error title=Ratiba Eval Gate::$2"; fi
  return 1
}

require_docker() {
  case $(uname -s)/$(uname -m) in
    Linux/x86_64 | Linux/aarch64) ;;
    *)
      give_up docker "The gate's container needs Linux on x86_64 or arm64, and this runner is $(uname -sm). Use such a runner, or run 'ratiba gate' from an installed package."
      return
      ;;
  esac
  if ! command -v docker >/dev/null; then
    give_up docker "There is no docker command here. In a job with 'container:', leave the container out, or make this action's image the job's container and call /opt/ratiba/bin/python -I /opt/ratiba/app/entrypoint.py gate."
  elif ! interruptible docker version >/dev/null 2>&1; then
    give_up docker "The Docker daemon does not answer. Start it, and let the runner's user reach its socket."
  fi
}

# Sets IMAGE to the image named by RATIBA_IMAGE, or to one built from the action's own folder.
get_image() {
  if [ -z "${RATIBA_IMAGE:-}" ]; then
    build_image "$@"
  elif [[ ! $RATIBA_IMAGE =~ ^[A-Za-z0-9][A-Za-z0-9._/:@-]*$ ]]; then
    give_up image "The input 'image' is no name of an image. Give one such as registry/name@sha256:digest, or leave it empty."
  else
    pull_image
  fi
}

build_image() {
  local action=$1 identifier=$2/image name options=()
  if [ -r "${SSL_CERT_FILE:-}" ]; then options=(--secret "id=ca,src=$SSL_CERT_FILE"); fi
  # The builder knows these names: they are in no layer, and do not change what its cache holds.
  for name in HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy; do
    if [ -n "${!name:-}" ]; then options+=(--build-arg "$name"); fi
  done
  # A builder in a container, which a job may have chosen, keeps what it builds unless it is told to hand it over.
  if docker buildx version >/dev/null 2>&1; then options+=(--load); fi
  announce "::group::Build the image"
  interruptible build --iidfile "$identifier" "${options[@]}" "$action" ||
    { announce "::endgroup::"; give_up image "The image could not be built from the action's folder; the log above says why."; return; }
  announce "::endgroup::"
  IMAGE=$(<"$identifier")
}

# Runs in a process of its own: the proxies, whatever user they have, reach the builder and no other program.
build() {
  export HTTP_PROXY HTTPS_PROXY http_proxy https_proxy DOCKER_BUILDKIT=1
  docker build --progress plain "$@"
}

# A tag may have moved since this daemon pulled it; what a digest or an identifier names never changes.
pull_image() {
  local here=false
  if docker image inspect "$RATIBA_IMAGE" >/dev/null 2>&1; then here=true; fi
  if ! $here || [[ ! $RATIBA_IMAGE =~ (^|@)sha256:[0-9a-f]{64}$ ]]; then
    announce "::group::Pull the image"
    if interruptible docker pull --quiet "$RATIBA_IMAGE"; then
      announce "::endgroup::"
    elif announce "::endgroup::" && $here && [ -z "$CANCELLED" ]; then
      announce "::warning title=Ratiba Eval Gate::The image '$RATIBA_IMAGE' could not be pulled again, so the copy on this runner is used, and it may be an old one. Name it by its digest to have the same one everywhere."
    else
      give_up image "The image '$RATIBA_IMAGE' could not be pulled. Check its name, that it is public or that the job has logged in, or leave the input empty to have it built."
      return
    fi
  fi
  IMAGE=$RATIBA_IMAGE
}

# Takes from RATIBA_DEADLINE what has gone by: the job's own time-out, below which it has to stay, goes on while an
# image is built. What is no duration stays as it is, for the gate to refuse.
count_down() {
  if [[ $RATIBA_DEADLINE =~ ^[1-9][0-9]{0,4}(\.[0-9]+)?$ ]]; then
    RATIBA_DEADLINE=$(awk -v all="$RATIBA_DEADLINE" -v gone="$SECONDS" 'BEGIN { print (all - gone > 1 ? all - gone : 1) }')
  fi
}

# Lays out what goes in (inbox) and what comes out (outbox) below a folder of the runner's own.
prepare_boxes() {
  local work=$1
  if ! { mkdir -p "$work/inbox" "$work/outbox/step" && : >"$work/outbox/step/output" &&
    : >"$work/outbox/step/summary" && copy_if_there "${GITHUB_EVENT_PATH:-}" "$work/inbox/event.json" &&
    copy_if_there "${SSL_CERT_FILE:-}" "$work/inbox/ca.pem" &&
    copy_if_there "${RATIBA_SHARDS:-}" "$work/inbox/shards" && copy_journals "$work/inbox" &&
    copy_if_there "$HANDED" "$work/inbox/handed"; }; then
    give_up disk "The runner's folder for temporary files, '${RUNNER_TEMP:-/tmp}', cannot be written to, so the gate was not started. Make room on that disk."
  fi
}

# They are sealed; the container's user may be another one.
copy_journals() {
  copy_if_there "$EARLIER_JOURNALS" "$1/journals" && if [ -d "$1/journals" ]; then chmod -R a+rX "$1/journals"; fi
}

copy_if_there() {
  if [ -r "$1" ]; then cp --recursive "$1" "$2"; fi
}

# Prints the mount of a path of the runner. It is read as a line of CSV: a comma or a quote in the path ends nothing.
binding() {
  printf 'type=bind,"source=%s",target=%s' "${1//\"/\"\"}" "$2"
}

# Whether the daemon sees our files and the workspace's owner may write to the outbox. It does not where this step
# itself runs in a container, and root cannot start the embedded database.
mounts_work() {
  local work=$1 owner=$2 word=$RANDOM$RANDOM
  if [ "${owner%%:*}" = 0 ]; then return 1; fi
  chown -R "$owner" "$work/outbox" 2>/dev/null || true
  echo "$word" >"$work/inbox/word"
  docker run --rm --network none --user "$owner" --read-only --cap-drop ALL \
    --mount "$(binding "$work/inbox" /run/ratiba),readonly" \
    --mount "$(binding "$work/outbox" /report)" \
    --entrypoint /bin/sh "$IMAGE" -c 'cat /run/ratiba/word >/report/word' >/dev/null 2>&1 || true
  [ "$(cat "$work/outbox/word" 2>/dev/null)" = "$word" ] && rm -f "$work/inbox/word" "$work/outbox/word"
}

# Makes CONTAINER, with the words after the folder as the command of the gate.
create_container() {
  local work=$1 workspace owner name options=() variables=()
  shift
  workspace=$(realpath "$GITHUB_WORKSPACE")
  owner=$(stat --format %u:%g "$workspace")
  if mounts_work "$work" "$owner"; then
    VOLUMES=()
    printf 'ratiba:x:%s::/home/ratiba:/usr/sbin/nologin\n' "$owner" >"$work/inbox/passwd"
    options+=(
      --mount "$(binding "$workspace" /workspace),readonly"
      --mount "$(binding "$work/outbox" /report)"
      --mount "$(binding "$work/inbox" /run/ratiba),readonly"
      --mount "$(binding "$work/inbox/passwd" /etc/passwd),readonly"
    )
  else
    owner=$IMAGE_USER:$IMAGE_USER
    copy_in "$work" "$workspace" || return
    options+=(
      --mount "type=volume,source=${VOLUMES[0]},target=/workspace,readonly"
      --mount "type=volume,source=${VOLUMES[1]},target=/report"
      --mount "type=volume,source=${VOLUMES[2]},target=/run/ratiba,readonly"
    )
  fi
  for name in "${ENTERING[@]}"; do
    if [ -n "${!name:-}" ]; then variables+=(--env "$name"); fi
  done
  if [ -f "$work/inbox/ca.pem" ]; then
    variables+=(--env SSL_CERT_FILE=/run/ratiba/ca.pem --env REQUESTS_CA_BUNDLE=/run/ratiba/ca.pem)
  fi
  variables+=(
    --env GITHUB_WORKSPACE=/workspace --env GITHUB_EVENT_PATH=/run/ratiba/event.json
    --env RATIBA_SECRETS=stdin --env RATIBA_COMMANDS=/report/step/commands --env GITHUB_STEP_SUMMARY=/report/step/summary
    --env RATIBA_REPORT_DIR=/report/ratiba-report --env RATIBA_REPORT_DIR_OUTSIDE="$REPORT"
  )
  if [ -s "$work/channel" ]; then
    options+=(--mount "type=volume,source=$(<"$work/channel"),target=$CHANNEL,volume-nocopy,readonly")
    variables+=(--env "RATIBA_ENGINE=$CHANNEL/socket")
  fi
  if [ -n "${RATIBA_SHARDS:-}" ]; then variables+=(--env RATIBA_SHARDS=/run/ratiba/shards); fi
  # What the gate concludes counts once it is sealed; the concluding step's own words count as they are.
  if [ "$1" = gate ]; then
    variables+=(--env RATIBA_SEAL=/report/step/seal)
    if [ -n "${RATIBA_JOURNAL_KEY:-}" ]; then
      variables+=(--env RATIBA_SEALED_JOURNALS=/report/journals --env RATIBA_EARLIER_JOURNALS=/run/ratiba/journals)
    fi
  else
    variables+=(--env GITHUB_OUTPUT=/report/step/output)
  fi
  if [ -n "${RATIBA_JOB_NETWORK:-}" ]; then
    variables+=(--env RATIBA_CONTAINER_NETWORK=job)
  else
    variables+=(--env RATIBA_CONTAINER_NETWORK=host)
  fi
  CONTAINER=$(
    docker create --interactive --cidfile "$work/container" --read-only \
      --tmpfs /tmp:exec,nosuid,nodev,mode=1777 --tmpfs /home/ratiba:nosuid,nodev,mode=1777 \
      --tmpfs "/sandbox/head:$ROOM" --tmpfs "/sandbox/base:$ROOM" \
      --cap-drop ALL --security-opt no-new-privileges --pids-limit 512 --memory "$(memory_limit)" \
      --network "${RATIBA_JOB_NETWORK:-host}" --user "$owner" --workdir /workspace \
      "${options[@]}" "${variables[@]}" "$IMAGE" "$@"
  ) || give_up container "The container could not be created; the log above says why."
  OWNER=$owner
}

# Whether the configuration of either side may ask for containers of the system: the base's is not checked out.
wants_containers() {
  local file=$GITHUB_WORKSPACE/${RATIBA_CONFIG:-.github/ratiba.yml}
  [ "${RATIBA_CONFIG_CHANGED:-}" = true ] || { [ -f "$file" ] && head --bytes 1000000 "$file" | grep container >/dev/null; }
}

# Makes the volume by which the gate speaks with that program; the gate says so where there is none but should be.
prepare_channel() {
  local work=$1
  if ! wants_containers || ! ENGINE_PYTHON=$(suitable_python); then return 0; fi
  docker volume create >"$work/channel" || { give_up container "The volume for the containers of the system could not be created."; return; }
}

# Starts the program, and sets ENGINE to its process. It gets the key of this run, and of the variables here those alone
# that Docker's command needs. The kernel ends it when this shell is gone.
start_engine() {
  local work=$1
  if [ ! -s "$work/channel" ]; then return 0; fi
  mkdir "$work/builds" || return
  (
    # Bash hands on what it cannot name, such as MY-KEY, and keeps it from no program itself.
    unneeded=()
    while IFS= read -r -d '' entry; do
      case ${entry%%=*} in
        PATH | HOME | XDG_RUNTIME_DIR | TMPDIR | LANG | LC_ALL | SSL_CERT_FILE | SSL_CERT_DIR | DOCKER_* | '') ;;
        *) unneeded+=(-u "${entry%%=*}") ;;
      esac
    done < <(env -0)
    exec env "${unneeded[@]}" "$ENGINE_PYTHON" -I "$here/engine.py" "$IMAGE" "$(<"$work/channel")" "$OWNER" "$work/builds" "$$"
  ) < <(printf '%s\n' "$RATIBA_ENGINE_KEY") &
  ENGINE=$!
}

# Has the program end every container and remove every image that it has made, and waits for it.
end_engine() {
  if [ -z "$ENGINE" ]; then return 0; fi
  kill -TERM "$ENGINE" 2>/dev/null || true
  # A signal ends a wait early.
  while kill -0 "$ENGINE" 2>/dev/null; do wait "$ENGINE" || true; done
  ENGINE=""
}

# Four fifths of the machine's memory: the kernel ends the container rather than the runner.
memory_limit() {
  awk '/^MemTotal:/ { printf "%dk", $2 * 0.8 }' /proc/meminfo
}

# Fills volumes through a container that is never started: the daemon does not see our files.
copy_in() {
  local work=$1 workspace=$2 carrier
  for _ in workspace report inbox; do docker volume create || break; done >"$work/volumes"
  mapfile -t VOLUMES <"$work/volumes"
  if [ "${#VOLUMES[@]}" != 3 ] || [ -n "$CANCELLED" ]; then give_up container "The volumes for the workspace and the report could not be created."; return; fi
  carrier=$(
    docker create --cidfile "$work/carrier" \
      --mount "type=volume,source=${VOLUMES[0]},target=/workspace,volume-nocopy" \
      --mount "type=volume,source=${VOLUMES[1]},target=/report,volume-nocopy" \
      --mount "type=volume,source=${VOLUMES[2]},target=/run/ratiba,volume-nocopy" "$IMAGE"
  ) || { give_up container "The container could not be created; the log above says why."; return; }
  if interruptible fill "$carrier"; then
    docker rm --force "$carrier" >/dev/null
  else
    give_up container "The workspace could not be copied into the container; the log above says why."
  fi
}

# Uses the names of `copy_in`.
fill() {
  packed "$workspace" workspace | docker cp --quiet - "$1:/" &&
    packed "$work/outbox" report | docker cp --quiet - "$1:/" &&
    packed "$work/inbox" run/ratiba | docker cp --quiet - "$1:/"
}

# Prints a folder as an archive under another name, owned by the image's user; where links lead stays as it is.
packed() {
  tar --create --file - --numeric-owner --owner "$IMAGE_USER" --group "$IMAGE_USER" --transform "s,^\\.,$2,S" \
    --directory "$1" .
}

# Starts CONTAINER, shows what it prints, sends it the runner's signals, and sets CODE to its exit code.
run_container() {
  local stopped
  docker start --attach --interactive "$CONTAINER" < <(secrets) &
  CLIENT=$!
  if [ -n "$CANCELLED" ]; then end_work; fi
  # A signal ends a wait early.
  while kill -0 "$CLIENT" 2>/dev/null; do wait "$CLIENT" || true; done
  CLIENT=""
  stopped=$CANCELLED
  # A container that was lost sight of may still run; its code is 0 until it has ended.
  CODE=$(docker inspect --format '{{if eq .State.Status "exited"}}{{.State.ExitCode}}{{end}}' "$CONTAINER") || CODE=""
  if [ "$(docker inspect --format '{{.State.OOMKilled}}' "$CONTAINER")" = true ]; then stopped=memory; fi
  # Without its daemon the container goes on, out of sight, until its deadline.
  if [ -z "$stopped$CODE" ] && ! docker version >/dev/null 2>&1; then stopped=daemon; fi
  ENDED=$stopped
}

# Fetches the outbox, of which only plain files and folders are kept: whoever wrote a link may have meant another file.
copy_out() {
  local work=$1
  if [ "${#VOLUMES[@]}" -gt 0 ]; then
    rm -rf "$work/outbox"
    fetch "$work/outbox" report ||
      # On a full disk no file is whole; the verdict, with outputs and summary, needs little room.
      { rm -rf "$work/outbox"; warn_about "The report could not be copied from the container to '$work'. Make room on that disk."; fetch "$work/outbox/step" report/step; } ||
      return
  fi
  find "$work/outbox" ! -type f ! -type d -delete
}

# Unpacks a folder of the container; fails when not all of it could be written.
fetch() {
  mkdir -p "$1"
  docker cp --quiet "$CONTAINER:/$2" - |
    tar --extract --file - --no-same-owner --no-same-permissions --strip-components 1 --directory "$1"
}

# Keeps the sealed journals of a container that has ended, in whatever way, for the job's next attempt. Names are the
# gate's own, and only files count: whatever else came to stand there is dropped.
keep_journals() {
  local work=$1 file name
  if [ -s "$work/volumes" ] && [ -s "$work/container" ]; then
    CONTAINER=$(<"$work/container") fetch "$work/outbox/journals" report/journals 2>/dev/null || true
  fi
  for file in "$work/outbox/journals"/*.journal; do
    name=${file##*/}
    if [[ ! $name =~ ^[0-9a-f]{16}-[1-9][0-9]{0,8}\.journal$ ]] || [ ! -f "$file" ] || [ -L "$file" ]; then continue; fi
    { mkdir -p "$JOURNALS" && cp "$file" "$JOURNALS/$name.part" && mv -f "$JOURNALS/$name.part" "$JOURNALS/$name"; } ||
      warn_about "The sealed write-ahead journal could not be copied to '$JOURNALS', so a re-run pays again for what this run has paid. Make room on that disk."
  done
}

# Removes what a step has made, whatever had come of it, and the folder that names it.
clear_away() {
  local work=$1 made
  # A container whose step was killed would go on writing its journal.
  if [ -s "$work/container" ]; then docker kill "$(<"$work/container")" >/dev/null 2>&1 || true; fi
  keep_journals "$work"
  for made in "$work/container" "$work/carrier"; do
    if [ -s "$made" ]; then docker rm --force "$(<"$made")" >/dev/null 2>&1 || true; fi
  done
  if [ -s "$work/channel" ]; then
    # Of the system, where the program that started it was killed: its relay may be kept from reading its end.
    made="label=ratiba.system=$(<"$work/channel")"
    docker ps --all --quiet --filter "$made" | xargs --no-run-if-empty docker rm --force >/dev/null 2>&1 || true
    docker image ls --quiet --filter "$made" | xargs --no-run-if-empty docker image rm --force >/dev/null 2>&1 || true
    docker ps --all --quiet --filter "volume=$(<"$work/channel")" | xargs --no-run-if-empty docker rm --force >/dev/null 2>&1 || true
    docker volume rm --force "$(<"$work/channel")" >/dev/null 2>&1 || true
  fi
  # The container ran as this user, and may have taken every right from its folders.
  chmod -R u+rwX "$work" 2>/dev/null || true
  if [ -s "$work/volumes" ]; then xargs docker volume rm --force <"$work/volumes" >/dev/null 2>&1 || true; fi
  rm -rf "$work"
}

# Does so for an evaluating step that was killed before it could: its container would go on, and spend money.
remove_leftovers() {
  local work
  for work in "${RUNNER_TEMP:-/nonexistent}"/ratiba-evaluate-*/; do clear_away "$work"; done
}
