"""``ratiba doctor``: what the gate still needs on this machine and in this repository."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from ratiba_action.authoring.readiness import GITLAB, Files, ReadinessCheck, State, check_all
from ratiba_action.commands.options import add_json, add_repo, print_json, repository_of
from ratiba_action.commands.validate import inspect
from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.config.metrics_block import attach_metrics
from ratiba_action.errors import InfrastructureError, SuiteError, UsageError
from ratiba_action.metrics.registry import is_judged
from ratiba_action.model.scenario import Suite
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.tenancy.installation import find_installation
from ratiba_action.tenancy.server import docker_is_there
from ratiba_action.util.folder_tree import paths_below
from ratiba_action.util.git import Git, installed_version
from ratiba_action.util.locked_folder import is_file, is_folder, read_plain_file
from ratiba_action.util.text import printable

DESCRIPTION = """Check what the gate needs: Python, git, keys, database, Docker, configuration, scenarios, recordings,
and the workflow's permissions, commit and placeholders. Keys are never shown. Nothing is run or changed. The exit code
is 0 if nothing is missing, else 1."""
EXAMPLE = """example:
  ratiba doctor
  ratiba doctor --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_repo(parser)
    parser.add_argument(
        "--config", metavar="PATH", help="configuration file (default: .github/ratiba.yml; RATIBA_CONFIG)"
    )
    add_json(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Check and print; returns 0 if nothing is missing, else 1.

    Raises:
        UsageError: there is no such folder.
        ConfigurationError: an input is invalid.
    """
    repository = repository_of(arguments, environment)
    if not is_folder(repository):
        raise UsageError(f"There is no folder {str(repository)!r}.", "Give the checkout with --repo.")
    settings = read_settings(environment, {"config": arguments.config})
    machine = ThisMachine(repository, environment)
    checks = check_all(machine, read_files(repository, settings), _installed_version())
    missing = [check for check in checks if check.state is State.MISSING]
    if arguments.json:
        listed = [
            {"check": check.name, "state": check.state.value, "found": check.found, "fix": check.fix}
            for check in checks
        ]
        print_json({"missing": len(missing), "checks": listed})
    else:
        sys.stdout.write("".join(f"{printable(line)}\n" for line in _lines(checks, len(missing))))
    return 1 if missing else 0


def _lines(checks: Sequence[ReadinessCheck], missing: int) -> Iterator[str]:
    width = max(len(check.name) for check in checks)
    for check in checks:
        yield f"{check.state.value:<8}  {check.name:<{width}}  {check.found}"
        if check.fix:
            yield f"{'':<{10 + width}}  -> {check.fix}"
    yield "Nothing is missing." if not missing else f"{missing} missing."


def read_files(repository: Path, settings: Settings) -> Files:
    """What the repository's own files come to.

    Args:
        settings: paths of the files.
    """
    if not is_file(repository / settings.config):
        return Files(settings.config, None, exists=False)
    found = inspect(repository, settings, datetime.now(UTC).date())
    configuration = _configuration(repository, settings.config)
    recorded = {path.stem for path in paths_below(repository / settings.scenarios / "recordings")}
    scenarios = found.suite.scenarios if found.suite is not None else ()
    return Files(
        settings.config,
        configuration,
        [scenario.id for scenario in scenarios],
        [scenario.id for scenario in scenarios if scenario.script is None and scenario.id not in recorded],
        len(found.problems),
        judged := _is_judged(found.suite, configuration),
        judged or any(scenario.script is None for scenario in scenarios),
    )


def _configuration(repository: Path, path: str) -> Configuration | None:
    try:
        return read_configuration(path, read_plain_file(repository, path))
    except (SuiteError, OSError):
        return None


def _is_judged(suite: Suite | None, configuration: Configuration | None) -> bool:
    if suite is None or configuration is None:
        return False
    attached = (each for scenario in suite.scenarios for each in attach_metrics(scenario, configuration.metrics))
    return any(is_judged(each.metric, each.parameters) for each in attached)


def _installed_version() -> str:
    try:
        return version("ratiba-eval-gate")
    except PackageNotFoundError:
        return "of an unknown version, since it is not installed"


class ThisMachine:
    """The machine that the command runs on, and a repository there.

    Args:
        repository: the checkout.
        environment: with the secrets; none is handed on.
    """

    python = (sys.version_info.major, sys.version_info.minor)

    def __init__(self, repository: Path, environment: Mapping[str, str]) -> None:
        self._repository = repository
        self._environment = environment

    def git_version(self) -> str | None:
        """What ``git --version`` prints."""
        return installed_version(self._repository, self._environment)

    def has_commit(self) -> bool:
        """Whether HEAD of a checkout names a commit."""
        try:
            return Git(self._repository, self._environment).commit("HEAD") is not None
        except InfrastructureError:
            return False

    def workflows(self) -> Iterable[tuple[str, bytes]]:
        """Every workflow that can be read."""
        names = [path.relative_to(self._repository) for path in paths_below(self._repository / ".github/workflows")]
        for name in [GITLAB, *sorted(name.as_posix() for name in names if name.suffix in {".yml", ".yaml"})]:
            try:
                yield name, read_plain_file(self._repository, name)
            except OSError:
                continue

    def variable(self, name: str) -> str | None:
        """A variable, or a secret."""
        return self._environment.get(name)

    def has_extra(self, name: str) -> bool:
        """Whether the packages of an extra are installed."""
        if name == "embedded":
            return find_installation() is not None
        return find_spec({"judges": "deepeval", "docker": "testcontainers"}[name]) is not None

    def has_file(self, name: str) -> bool:
        """Whether there is a regular file of this path."""
        return is_file(self._repository / name)

    def configuration(self, name: str) -> Configuration | None:
        """The configuration of this path, if it is there and valid."""
        return _configuration(self._repository, name)

    def docker_runs(self) -> bool:
        """Whether Docker's daemon accepts connections."""
        return docker_is_there()
