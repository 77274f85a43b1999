"""Whether a machine and a repository have what the gate needs. Pure: what is there is asked of a port.

No value of a secret is in a check: a key is present or not, and has a form or not.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from urllib.parse import urlsplit

from ratiba_action.authoring.project_files import foreign_program
from ratiba_action.authoring.starter_files import CONFIGURATION
from ratiba_action.authoring.workflow_review import GateUse, calls_gate, gate_uses, review_workflow
from ratiba_action.config.configuration import Configuration
from ratiba_action.settings.provider_keys import BUILT_IN, SHELL_KEYS
from ratiba_action.util.installation import install_command, page

GITLAB = ".gitlab-ci.yml"
PYTHON = (3, 11)
GIT = (2, 30)

_LISTS_OF_PACKAGES = (
    *("poetry.lock", "uv.lock", "requirements.txt", "package-lock.json", "yarn.lock", "pnpm-lock.yaml"),
    "Gemfile.lock",
)
_SHOWN = 3
_VERSION = re.compile(r"(\d+)\.(\d+)")
_FORMS = {"anthropic": re.compile(r"sk-ant-[\w-]{16,}"), "openai": re.compile(r"sk-[\w-]{16,}")}
_OTHER_FORM = re.compile(r"[!-~]{8,}|\s*\{.*\}\s*", re.DOTALL)
"""A key of another provider: printable and without a space, or the JSON of a service account."""


class State(StrEnum):
    """How a check ended; only ``MISSING`` is to be fixed before the gate can work."""

    OK = "ok"
    MISSING = "missing"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True)
class ReadinessCheck:
    """One line of ``ratiba doctor``.

    Args:
        found: what is there, or what is not.
        fix: the command or the edit that fixes it; empty for ``OK``.
    """

    name: str
    state: State
    found: str
    fix: str = ""


class Machine(Protocol):
    """What the checks ask of the machine and the repository."""

    python: tuple[int, int]

    def git_version(self) -> str | None:
        """What ``git --version`` prints; None without git."""
        ...

    def has_commit(self) -> bool:
        """Whether the repository is one of git and has a commit."""
        ...

    def workflows(self) -> Iterable[tuple[str, bytes]]:
        """Path and content of ``.gitlab-ci.yml`` and of each file below ``.github/workflows`` that is there."""
        ...

    def variable(self, name: str) -> str | None:
        """An environment variable; a secret too. None if it is not set."""
        ...

    def has_extra(self, name: str) -> bool:
        """Whether the packages of an extra are installed: ``judges``, ``embedded`` or ``docker``."""
        ...

    def has_file(self, name: str) -> bool:
        """Whether there is a file of this path in the repository."""
        ...

    def configuration(self, name: str) -> Configuration | None:
        """The configuration of this path; None where there is none, or it has mistakes."""
        ...

    def docker_runs(self) -> bool:
        """Whether Docker's daemon accepts connections."""
        ...


@dataclass(frozen=True, slots=True)
class Files:
    """What the repository's own files came to.

    Args:
        config: path of the configuration.
        configuration: None where the file is missing or has mistakes.
        scenarios: ids.
        unrecorded: ids of scenarios without a recording whose model is not mocked.
        mistakes: how many ``ratiba validate`` reports.
        judged: whether a judged metric is attached to a scenario.
        calls_models: whether a scenario's model is not mocked, or a judged metric is attached.
        exists: whether there is a configuration file.
    """

    config: str
    configuration: Configuration | None
    scenarios: Sequence[str] = ()
    unrecorded: Sequence[str] = ()
    mistakes: int = 0
    judged: bool = False
    calls_models: bool = False
    exists: bool = True


def check_all(machine: Machine, files: Files, version: str) -> tuple[ReadinessCheck, ...]:
    """Every check, in the order in which one fixes what is missing.

    Args:
        version: of the installed gate.
    """
    return (
        _check_python(machine),
        _check_git(machine),
        _check_repository(machine),
        ReadinessCheck("version", State.OK, f"ratiba {version}"),
        *_check_files(files),
        *_check_packages(machine, files),
        *_check_judges(machine, files),
        *_check_keys(machine, files),
        _check_database(machine, files),
        _check_docker(machine),
        *_check_workflows(machine, files),
    )


def _check_python(machine: Machine) -> ReadinessCheck:
    found = ".".join(map(str, machine.python))
    if machine.python >= PYTHON:
        return ReadinessCheck("python", State.OK, found)
    return ReadinessCheck("python", State.MISSING, f"{found} is too old", "install Python 3.11 or newer")


def _check_git(machine: Machine) -> ReadinessCheck:
    printed = machine.git_version()
    if printed is None:
        return ReadinessCheck("git", State.MISSING, "not found on the PATH", "install git 2.30 or newer")
    version = _VERSION.search(printed)
    if version is not None and (int(version[1]), int(version[2])) >= GIT:
        return ReadinessCheck("git", State.OK, printed.removeprefix("git version "))
    return ReadinessCheck("git", State.MISSING, f"{printed} is too old", "install git 2.30 or newer")


def _check_repository(machine: Machine) -> ReadinessCheck:
    if machine.has_commit():
        return ReadinessCheck("repository", State.OK, "a git repository with a commit")
    return ReadinessCheck(
        "repository", State.MISSING, "no commit to compare with", "git init && git add --all && git commit -m 'Start'"
    )


def _check_files(files: Files) -> Iterator[ReadinessCheck]:
    if not files.exists:
        yield ReadinessCheck("configuration", State.MISSING, f"no {files.config}", "ratiba init")
    elif files.mistakes or files.configuration is None:
        count = max(files.mistakes, 1)
        yield ReadinessCheck(
            "configuration",
            State.MISSING,
            f"{count} mistake{'s' * (count > 1)} in it or the scenarios",
            f"ratiba validate{'' if files.config == CONFIGURATION else f' --config {files.config}'}",
        )
    else:
        yield ReadinessCheck("configuration", State.OK, files.config)
    if files.scenarios:
        yield ReadinessCheck("scenarios", State.OK, str(len(files.scenarios)))
    else:
        fix = "ratiba init" if not files.exists else "ratiba generate --help"
        yield ReadinessCheck("scenarios", State.MISSING, "none was read", fix)
    without = sorted(files.unrecorded)
    if not files.scenarios:
        return
    if not without:
        every = "the scenario" if len(files.scenarios) == 1 else "every scenario"
        yield ReadinessCheck("recordings", State.OK, f"of {every} that needs one")
    else:
        more = len(without) - _SHOWN
        shown = ", ".join(without[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        yield ReadinessCheck(
            "recordings",
            State.OPTIONAL,
            f"none of {shown}",
            "ratiba record --accept  # if they call models; needs a key. Or mock the model: layer: fsm, script",
        )


def _check_packages(machine: Machine, files: Files) -> Iterator[ReadinessCheck]:
    """What the system imports is not in the gate's image: where a file lists it, something has to install it."""
    for path, configuration in _without_image(machine, files).items():
        system = configuration.system
        root = "" if system.root == "." else f"{system.root}/"
        listed = next((f"{root}{name}" for name in _LISTS_OF_PACKAGES if machine.has_file(f"{root}{name}")), None)
        runs_here = system.serve is not None or system.kind not in {"url", "http", "prompt", "replay"}
        if listed is not None and runs_here and system.setup is None:
            yield ReadinessCheck(
                "packages",
                State.OPTIONAL,
                f"{listed} lists packages, and no `system.setup` installs them: the action's image may lack them",
                f"set `system.setup` in {path}: {page('adapters', 'dependencies')}",
            )


def _without_image(machine: Machine, files: Files) -> dict[str, Configuration]:
    """By its path, each configuration that a workflow runs in the action's own image."""
    calling = [content for _, content in machine.workflows() if calls_gate(content)]
    uses = [use for content in calling for use in gate_uses(content) if not use.names_image]
    found = {path: _configuration_of(use, machine, files) for use in uses if (path := _path_of(use, files)) is not None}
    return {path: configuration for path, configuration in found.items() if configuration is not None}


def _path_of(use: GateUse, files: Files) -> str | None:
    return None if use.config is None else use.config or files.config


def _configuration_of(use: GateUse, machine: Machine, files: Files) -> Configuration | None:
    path = _path_of(use, files)
    if path is None:
        return None
    return files.configuration if path == files.config else machine.configuration(path)


def _check_judges(machine: Machine, files: Files) -> Iterator[ReadinessCheck]:
    if machine.has_extra("judges"):
        yield ReadinessCheck("judges", State.OK, "DeepEval is installed")
    else:
        state = State.MISSING if files.judged else State.OPTIONAL
        yield ReadinessCheck("judges", state, "DeepEval is not installed", install_command("judges"))


def _check_keys(machine: Machine, files: Files) -> Iterator[ReadinessCheck]:
    declared = files.configuration.providers.values() if files.configuration is not None else ()
    variables: list[tuple[str, tuple[str, ...]]]
    variables = [(name, (f"RATIBA_{name.upper()}_API_KEY", SHELL_KEYS[name][0])) for name in BUILT_IN]
    variables += [(each, (each,)) for each in sorted({entry.key_variable for entry in declared if entry.key_variable})]
    for provider, names in variables:
        found = next((name for name in names if machine.variable(name)), names[0])
        value = machine.variable(found)
        check = f"key {provider}" if provider in BUILT_IN else f"key {names[0]}"
        address = f"RATIBA_{provider.upper()}_BASE_URL"
        if not value:
            yield ReadinessCheck(check, State.OPTIONAL, f"{found} is not set", f"export {found}=…  # for live answers")
        elif provider in BUILT_IN and machine.variable(address):
            message = f"present; {address} names another server, whose keys may have any form"
            yield ReadinessCheck(check, State.OK, message)
        elif _FORMS.get(provider, _OTHER_FORM).fullmatch(value):
            yield ReadinessCheck(check, State.OK, "present, in the form of a key")
        else:
            yield ReadinessCheck(
                check,
                State.MISSING,
                f"{found} has not the form of a key of {provider}",
                f"export {found}=…  # copy the key again, without spaces",
            )


def _is_address(text: str) -> bool:
    """Whether a text is the address of a PostgreSQL server; what ``urlsplit`` refuses is not repeated."""
    try:
        split = urlsplit(text)
    except ValueError:
        return False
    return split.scheme in {"postgres", "postgresql"} and bool(split.netloc)


def _check_database(machine: Machine, files: Files) -> ReadinessCheck:
    address = machine.variable("RATIBA_DATABASE_URL")
    if address:
        if _is_address(address):
            return ReadinessCheck("database", State.OK, "RATIBA_DATABASE_URL names a server")
        return ReadinessCheck(
            "database",
            State.MISSING,
            "RATIBA_DATABASE_URL is no address of PostgreSQL",
            "export RATIBA_DATABASE_URL=postgresql://USER:PASSWORD@HOST:5432/NAME",
        )
    if machine.has_extra("embedded"):
        return ReadinessCheck("database", State.OK, "the embedded PostgreSQL")
    if machine.has_extra("docker") and machine.docker_runs():
        return ReadinessCheck("database", State.OK, "PostgreSQL in a container")
    needed = files.configuration is not None and files.configuration.system.has_database
    state = State.MISSING if needed else State.OPTIONAL
    return ReadinessCheck("database", state, "no PostgreSQL for the tenants", install_command("embedded"))


def _check_docker(machine: Machine) -> ReadinessCheck:
    if machine.docker_runs():
        return ReadinessCheck("docker", State.OK, "its daemon answers")
    return ReadinessCheck(
        "docker",
        State.OPTIONAL,
        "its daemon does not answer; runners of GitHub have one",
        "start Docker, to run the gate's container here",
    )


def _check_workflows(machine: Machine, files: Files) -> Iterator[ReadinessCheck]:
    there = dict(machine.workflows())
    if b"ratiba" in there.pop(GITLAB, b""):
        yield ReadinessCheck("workflow", State.OK, f"{GITLAB} names the gate")
        return
    calling = {name: content for name, content in there.items() if calls_gate(content)}
    if not calling:
        # `init` changes no file that is there, so beside a configuration it writes the workflow elsewhere.
        fix = "ratiba init" if not files.exists else "ratiba init --yes --repo /tmp/ratiba  # copy its workflow"
        yield ReadinessCheck("workflow", State.MISSING, "none below .github/workflows calls the gate", fix)
    for name, content in sorted(calling.items()):
        gaps = review_workflow(content)
        for gap in gaps:
            yield ReadinessCheck("workflow", State.MISSING, f"{name}:{gap.line}: {gap.found}", gap.fix)
        if not gaps:
            yield ReadinessCheck("workflow", State.OK, f"{name}: pinned, with the permissions it needs")
        yield from _check_uses(name, gate_uses(content), machine, files)


def _check_uses(name: str, uses: Sequence[GateUse], machine: Machine, files: Files) -> Iterator[ReadinessCheck]:
    """Whether the image, the configuration and the keys that a workflow names are enough."""
    for use in dict.fromkeys(uses):
        if use.config and not machine.has_file(use.config):
            found = f"{name}: there is no {use.config}, which its input `config` names"
            yield ReadinessCheck("workflow", State.MISSING, found, f"write {use.config}, or correct the input")
        program = "" if use.names_image else _foreign_program(_configuration_of(use, machine, files))
        if program:
            yield ReadinessCheck(
                "image",
                State.MISSING,
                f"{name}: the action's image has no {program}, which starts the system",
                f"use `system.container` with a Dockerfile, or an image that has it: {page('node', 'in-the-action')}",
            )
    if files.calls_models and not any(use.passes_key for use in uses):
        yield ReadinessCheck(
            "keys there",
            State.OPTIONAL,
            f"{name} passes no key of a model: there an edited prompt is incomplete until its answers are recorded",
            "add the key to its job: secrets: {openai-api-key: ${{ secrets.OPENAI_API_KEY }}}",
        )


def _foreign_program(configuration: Configuration | None) -> str:
    """The program that starts the system, if the action's image is known to lack it; else empty."""
    if configuration is None:
        return ""
    system = configuration.system
    words = system.serve.command if system.serve is not None else (system.command or ())
    return foreign_program(words)
