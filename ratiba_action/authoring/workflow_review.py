"""What a workflow file that calls the gate still lacks: read as data, nothing is run."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ratiba_action.util.strict_yaml import YamlDocument, read_yaml

NEEDED: Mapping[str, str] = {"contents": "read", "actions": "read", "pull-requests": "write", "statuses": "write"}
"""The permissions of the gate's job, as ``docs/workflows.md`` has them."""

_GATE = re.compile(r"(?P<owner>[\w.-]+)/(?P<repository>[\w.-]+)(?P<path>/[\w./-]+)?@(?P<ref>[\w./-]+)")
_CALLED = ".github/workflows/gate.yml"
_KEYS = ("-api-key", "provider-keys")
"""How the names of the inputs end that take a key of a model."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_RANK = {"none": 0, "read": 1, "write": 2}


@dataclass(frozen=True, slots=True)
class Gap:
    """Something in a workflow that is to be changed.

    Args:
        kind: ``placeholder``, ``pin``, ``permission``, ``trigger`` or ``secrets``.
        line: from 1.
        fix: what to write or run.
    """

    kind: str
    line: int
    found: str
    fix: str


def calls_gate(content: bytes) -> bool:
    """Whether a workflow's job or step uses the gate, by the name of its repository or of its workflow."""
    return any(_gate(used) for _, _, used in _uses(_document(content)))


def review_workflow(content: bytes) -> tuple[Gap, ...]:
    """Everything to change in a workflow that calls the gate, in order of line."""
    document = _document(content)
    gaps = [*_trigger_gaps(document), *_secrets_gaps(document)]
    for job, path, used in _uses(document):
        if found := _gate(used):
            gaps += _reference_gaps(found, document.line(path))
            gaps += _permission_gaps(document, job)
    return tuple(sorted(dict.fromkeys(gaps), key=lambda gap: (gap.line, gap.kind)))


@dataclass(frozen=True, slots=True)
class GateUse:
    """A job or step that uses the gate.

    Args:
        names_image: whether it names the image that it runs in.
        config: path of its configuration; empty for the default, None where an expression decides.
        passes_key: whether it hands over the key of a model, or every secret.
    """

    names_image: bool
    config: str | None
    passes_key: bool


def gate_uses(content: bytes) -> tuple[GateUse, ...]:
    """Each job and step of a workflow that uses the gate."""
    document = _document(content)
    return tuple(_use(_beside(document, path)) for _, path, used in _uses(document) if _gate(used))


def _use(entry: Mapping[str, Any]) -> GateUse:
    inputs, secrets = _mapping(entry.get("with")), entry.get("secrets")
    config = str(inputs.get("config") or "")
    keys = secrets == "inherit" or any(str(name).endswith(_KEYS) for name in (*inputs, *_mapping(secrets)))
    return GateUse(bool(inputs.get("image")), None if "${{" in config else config, keys)


def _beside(document: YamlDocument, path: tuple[str | int, ...]) -> Mapping[str, Any]:
    """The job or step that a ``uses`` stands in."""
    value: Any = document.data
    for part in path[:-1]:
        value = value[part]
    return _mapping(value)


def _document(content: bytes) -> YamlDocument:
    """The workflow; an empty one where it is no mapping, so that nothing of it is found."""
    document, _ = read_yaml("workflow", content)
    return document if document is not None and isinstance(document.data, dict) else YamlDocument("workflow", {})


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _uses(document: YamlDocument) -> Iterator[tuple[str, tuple[str | int, ...], str]]:
    """Job, path and value of each ``uses``."""
    for name, job in _mapping(document.data.get("jobs")).items():
        used = _mapping(job).get("uses")
        if isinstance(used, str):
            yield name, ("jobs", name, "uses"), used
        steps = _mapping(job).get("steps")
        for number, step in enumerate(steps if isinstance(steps, list) else ()):
            used = _mapping(step).get("uses")
            if isinstance(used, str):
                yield name, ("jobs", name, "steps", number, "uses"), used


def _gate(used: str) -> re.Match[str] | None:
    """The parts of a reference to the gate; None for any other action or workflow."""
    found = _GATE.fullmatch(used)
    ours = found and (found["repository"] == "ratiba-eval-gate" or found["path"] == f"/{_CALLED}")
    return found if ours else None


def _reference_gaps(found: re.Match[str], line: int) -> Iterator[Gap]:
    placeholders = [word for word, part in (("OWNER", "owner"), ("COMMIT", "ref")) if found[part] == word]
    if placeholders:
        what = {"OWNER": "the account that has the gate's repository", "COMMIT": "the full id of a commit of it"}
        fix = " and ".join(f"{word} by {what[word]}" for word in placeholders)
        yield Gap(
            "placeholder",
            line,
            f"{' and '.join(placeholders)} still stand{'s' * (len(placeholders) == 1)} there",
            f"replace {fix}",
        )
    if found["ref"] != "COMMIT" and not _COMMIT.fullmatch(found["ref"]):
        repository = f"https://github.com/{found['owner']}/{found['repository']}"
        yield Gap(
            "pin",
            line,
            f"{found['ref']!r} is no full commit, so it can be moved",
            f"git ls-remote {repository} {found['ref']}  # write the commit that it prints",
        )


def _permission_gaps(document: YamlDocument, job: str) -> Iterator[Gap]:
    own = _mapping(document.data["jobs"][job]).get("permissions")
    path: tuple[str | int, ...] = ("jobs", job, "permissions") if own is not None else ("permissions",)
    given = own if own is not None else document.data.get("permissions")
    if given is None:
        yield Gap(
            "permission",
            document.line(("jobs", job)),
            f"the job {job!r} has the repository's default permissions",
            f"give it: permissions: {{{', '.join(f'{name}: {level}' for name, level in NEEDED.items())}}}",
        )
        return
    if not isinstance(given, dict):
        yield Gap(
            "permission",
            document.line(path),
            f"the job {job!r} has {given!r} for every permission",
            f"give it only: {{{', '.join(f'{name}: {level}' for name, level in NEEDED.items())}}}",
        )
        return
    for name, level in NEEDED.items():
        if _RANK.get(str(given.get(name, "none")), 0) < _RANK[level]:
            yield Gap(
                "permission",
                document.line(path),
                f"the job {job!r} lacks the permission {name}: {level}",
                f"add {name}: {level} to its permissions",
            )


def _trigger_gaps(document: YamlDocument) -> Iterator[Gap]:
    triggers = document.data.get("on")
    if isinstance(triggers, str):
        triggers = [triggers]
    listed = _mapping(triggers) or dict.fromkeys(triggers if isinstance(triggers, list) else ())
    line = document.line(("on",))
    if "pull_request_target" in listed:
        yield Gap("trigger", line, "pull_request_target, which the gate refuses", "use pull_request")
    elif "pull_request" not in listed:
        yield Gap("trigger", line, "no pull request starts it", "add pull_request to `on`")
    for event, options in listed.items():
        for filtered in ("paths", "paths-ignore"):
            if filtered in _mapping(options):
                yield Gap(
                    "trigger",
                    document.line(("on", event, filtered)),
                    f"`{filtered}` leaves the required check of other changes pending",
                    f"remove `{filtered}`: the gate looks at the changed paths itself",
                )


def _secrets_gaps(document: YamlDocument) -> Iterator[Gap]:
    for name, job in _mapping(document.data.get("jobs")).items():
        if _mapping(job).get("secrets") == "inherit" and _gate(str(job.get("uses"))):
            yield Gap(
                "secrets",
                document.line(("jobs", name, "secrets")),
                "every secret is handed over",
                "name the keys: secrets: {openai-api-key: ${{ secrets.OPENAI_API_KEY }}}",
            )
