"""The checks of ``ratiba doctor``, on a machine that a test describes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from ratiba_action.authoring.readiness import Files, ReadinessCheck, State, check_all
from ratiba_action.config.configuration import Configuration, read_configuration

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WORKFLOW = f"""\
on: pull_request
jobs:
  gate:
    uses: salon/ratiba-eval-gate/.github/workflows/gate.yml@{COMMIT}
    permissions: {{contents: read, actions: read, pull-requests: write, statuses: write}}
""".encode()
KEY = "sk-ant-0123456789abcdefghij"
CONFIGURATION = read_configuration("ratiba.yml", b"system: {adapter: 'shop:Adapter', database: true}\n")
FILES = Files("ratiba.yml", CONFIGURATION, ["a"])


@dataclass
class DescribedMachine:
    """Has everything unless a test says otherwise."""

    python: tuple[int, int] = (3, 12)
    git: str | None = "git version 2.43.0"
    commit: bool = True
    files: Mapping[str, bytes] = field(default_factory=lambda: {".github/workflows/eval.yml": WORKFLOW})
    variables: Mapping[str, str] = field(default_factory=lambda: {"ANTHROPIC_API_KEY": KEY})
    extras: tuple[str, ...] = ("judges", "embedded", "docker")
    docker: bool = True
    others: tuple[str, ...] = ()
    configurations: Mapping[str, Configuration] = field(default_factory=dict)

    def git_version(self) -> str | None:
        return self.git

    def has_commit(self) -> bool:
        return self.commit

    def workflows(self) -> Iterable[tuple[str, bytes]]:
        return self.files.items()

    def variable(self, name: str) -> str | None:
        return self.variables.get(name)

    def has_extra(self, name: str) -> bool:
        return name in self.extras

    def has_file(self, name: str) -> bool:
        return name in self.others or name in self.configurations

    def configuration(self, name: str) -> Configuration | None:
        return self.configurations.get(name)

    def docker_runs(self) -> bool:
        return self.docker


def checks(machine: DescribedMachine, files: Files = FILES) -> dict[str, ReadinessCheck]:
    return {check.name: check for check in check_all(machine, files, "1.0")}


def missing(machine: DescribedMachine, files: Files = FILES) -> list[str]:
    return [name for name, check in checks(machine, files).items() if check.state is State.MISSING]


def test_nothing_is_missing_where_everything_is_there() -> None:
    assert missing(DescribedMachine()) == []


@pytest.mark.parametrize(
    ("machine", "name", "fix"),
    [
        (DescribedMachine(python=(3, 10)), "python", "3.11"),
        (DescribedMachine(git=None), "git", "2.30"),
        (DescribedMachine(git="git version 2.29.9"), "git", "2.30"),
        (DescribedMachine(git="git, of unknown age"), "git", "2.30"),
        (DescribedMachine(commit=False), "repository", "git commit"),
        (DescribedMachine(files={}), "workflow", "ratiba init"),
        (DescribedMachine(files={"a.yml": WORKFLOW.replace(COMMIT.encode(), b"COMMIT")}), "workflow", "COMMIT by"),
        (DescribedMachine(extras=(), docker=False), "database", "[embedded]"),
        (DescribedMachine(variables={"RATIBA_DATABASE_URL": "mysql://x/y"}), "database", "postgresql://"),
        (DescribedMachine(variables={"RATIBA_DATABASE_URL": "postgresql://u:p\u2100@h/d"}), "database", "USER"),
        (DescribedMachine(variables={"RATIBA_DATABASE_URL": "postgresql://u:[p@h/d"}), "database", "USER"),
    ],
)
def test_what_is_missing_has_its_fix(machine: DescribedMachine, name: str, fix: str) -> None:
    assert missing(machine) == [name]
    assert fix in checks(machine)[name].fix


@pytest.mark.parametrize(
    ("files", "name", "fix"),
    [
        (Files("ratiba.yml", None, exists=False), "configuration", "ratiba init"),
        (replace(FILES, mistakes=2), "configuration", "ratiba validate"),
        (replace(FILES, configuration=None), "configuration", "ratiba validate"),
        (replace(FILES, scenarios=[]), "scenarios", "ratiba generate"),
    ],
)
def test_the_repositorys_own_files_are_checked(files: Files, name: str, fix: str) -> None:
    assert name in missing(DescribedMachine(), files)
    assert fix in checks(DescribedMachine(), files)[name].fix


def test_scenarios_without_recordings_are_named_and_need_not_be_recorded() -> None:
    found = checks(DescribedMachine(), replace(FILES, scenarios=[*"edcba"], unrecorded=[*"edcb"]))["recordings"]
    assert (found.state, found.found) == (State.OPTIONAL, "none of b, c, d and 1 more")
    assert found.fix.startswith("ratiba record")


def test_a_judge_is_needed_only_where_a_metric_is_judged() -> None:
    machine = DescribedMachine(extras=("embedded",))
    assert missing(machine) == []
    assert missing(machine, replace(FILES, judged=True)) == ["judges"]


def test_a_database_is_needed_only_by_a_system_with_tenants() -> None:
    without = read_configuration("ratiba.yml", b"system: {adapter: 'shop:Adapter', database: false}\n")
    assert missing(DescribedMachine(extras=(), docker=False), replace(FILES, configuration=without)) == []


@pytest.mark.parametrize("key", [KEY[:-2] + " \n", "'" + KEY + "'", "sk-ant-", "ghp_0123456789abcdef"])
def test_a_key_of_another_form_is_reported_and_no_part_of_it_is_shown(key: str) -> None:
    found = checks(DescribedMachine(variables={"ANTHROPIC_API_KEY": key}))
    assert found["key anthropic"].state is State.MISSING
    shown = repr(found)
    assert not {key, key.strip(), key.strip("'")} & {part for part in shown.split() if part != "sk-ant-"}
    assert KEY[:-2] not in shown


def test_a_key_that_is_there_is_never_shown() -> None:
    found = checks(DescribedMachine())
    assert found["key anthropic"].state is State.OK
    assert KEY not in repr(found)
    assert found["key openai"].state is State.OPTIONAL
    assert found["key openai"].fix.startswith("export RATIBA_OPENAI_API_KEY=")  # which every command reads


def test_a_key_for_another_server_may_have_any_form_and_the_variable_that_has_it_is_named() -> None:
    given = {"RATIBA_OPENAI_API_KEY": "none"}
    assert "RATIBA_OPENAI_API_KEY has not" in checks(DescribedMachine(variables=given))["key openai"].found
    elsewhere = {**given, "RATIBA_OPENAI_BASE_URL": "http://127.0.0.1:8081/v1"}
    assert checks(DescribedMachine(variables=elsewhere))["key openai"].state is State.OK


def test_the_keys_of_declared_providers_are_looked_for() -> None:
    declared = read_configuration(
        "ratiba.yml",
        b"system: {adapter: 'shop:Adapter'}\n"
        b"providers: {groq: {api: openai, base_url: 'https://api.groq.com/openai/v1', key: GROQ_API_KEY}}\n",
    )
    files = replace(FILES, configuration=declared)
    assert checks(DescribedMachine(), files)["key GROQ_API_KEY"].state is State.OPTIONAL
    there = DescribedMachine(variables={"GROQ_API_KEY": "gsk_0123456789"})
    assert checks(there, files)["key GROQ_API_KEY"].state is State.OK


def test_a_pipeline_of_gitlab_needs_no_workflow() -> None:
    assert missing(DescribedMachine(files={".gitlab-ci.yml": b"script: [ratiba gate]"})) == []
    assert missing(DescribedMachine(files={".gitlab-ci.yml": b"script: [make]"})) == ["workflow"]


@pytest.mark.parametrize(
    ("system", "inputs", "lacks"),
    [
        ("serve: {command: [npm, start]}\n  http: {url: 'http://127.0.0.1:{port}/', reply: {text: a}}", "", "npm"),
        ("command: [/usr/bin/node, bot.mjs]", "", "node"),
        ("command: [node, bot.mjs]", "    with: {image: ghcr.io/salon/gate-with-node}\n", ""),
        ("command: [python3, bot.py]", "", ""),
        ("container: {port: 8000}\n  http: {url: 'http://127.0.0.1:{port}/', reply: {text: a}}", "", ""),
    ],
)
def test_a_program_that_the_actions_image_lacks_is_missing_there(system: str, inputs: str, lacks: str) -> None:
    configuration = read_configuration("ratiba.yml", f"system:\n  {system}\n".encode())
    machine = DescribedMachine(files={".github/workflows/eval.yml": WORKFLOW + inputs.encode()})
    found = checks(machine, replace(FILES, configuration=configuration)).get("image")
    assert (found is not None and found.state is State.MISSING) == bool(lacks)
    assert found is None or f"has no {lacks}," in found.found


NODE = read_configuration(
    "ratiba.yml",
    b"system: {serve: {command: [npm, start]}, http: {url: 'http://127.0.0.1:{port}/', reply: {text: a}}}\n",
)
CONTAINER = read_configuration(
    "container.yml", b"system: {container: {port: 80}, http: {url: 'http://127.0.0.1:{port}/', reply: {text: a}}}\n"
)


@pytest.mark.parametrize(
    ("config", "lacking"),
    [("", ["image"]), (".github/container.yml", []), ("${{ vars.CONFIG }}", []), ("absent.yml", ["workflow"])],
)
def test_the_configuration_that_the_workflow_names_is_the_one_that_is_looked_at(
    config: str, lacking: list[str]
) -> None:
    inputs = f"    with: {{config: '{config}'}}\n" if config else ""
    machine = DescribedMachine(
        files={".github/workflows/eval.yml": WORKFLOW + inputs.encode()},
        configurations={".github/container.yml": CONTAINER},
        others=("package-lock.json",),
    )
    found = check_all(machine, replace(FILES, configuration=NODE), "1.0")
    assert [check.name for check in found if check.state is State.MISSING] == lacking
    assert any(check.name == "packages" for check in found) == (not config)


@pytest.mark.parametrize(
    ("given", "calls_models", "warned"),
    [
        ("", True, True),
        ("", False, False),
        ("    secrets: {openai-api-key: a}\n", True, False),
        ("    secrets: {provider-keys: a}\n", True, False),
        ("    secrets: inherit\n", True, False),
        ("    secrets: {webhook-secret: a}\n", True, True),
    ],
)
def test_a_workflow_without_a_key_is_said_to_leave_edited_prompts_incomplete(
    given: str,
    calls_models: bool,  # noqa: FBT001 - a parameter of the test
    warned: bool,  # noqa: FBT001 - the same
) -> None:
    machine = DescribedMachine(files={".github/workflows/eval.yml": WORKFLOW + given.encode()})
    found = checks(machine, replace(FILES, calls_models=calls_models)).get("keys there")
    assert (found is not None and found.state is State.OPTIONAL and "secrets.OPENAI_API_KEY" in found.fix) == warned


@pytest.mark.parametrize(
    ("system", "listed"),
    [
        ("adapter: 'shop:Adapter'", True),
        ("adapter: 'shop:Adapter'\n  setup: [pip, install, -r, requirements.txt]", False),
        ("prompt: {file: a.md, provider: openai, model: m, max_output_tokens: 9}", False),
        ("adapter: 'shop:Adapter'\n  root: bot", False),
    ],
)
def test_packages_that_nothing_installs_are_named(system: str, listed: bool) -> None:  # noqa: FBT001 - a column
    configuration = read_configuration("ratiba.yml", f"system:\n  {system}\n".encode())
    found = checks(DescribedMachine(others=("requirements.txt",)), replace(FILES, configuration=configuration))
    assert ("packages" in found) is listed
    if listed:
        assert (found["packages"].state, "requirements.txt" in found["packages"].found) == (State.OPTIONAL, True)
