"""Each tutorial's page on the real framework: its files are the example's, its change is red.

What all share, the conversation and the commands, stands in ``docs/tutorials.md``.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.git_repository import GitRepository

PROJECT = Path(__file__).parents[2]
_TUTORIALS = PROJECT / "examples" / "tutorials"
_PAGES = {
    "express": "express", "vercel_ai": "vercel-ai", "openai_agents": "openai-agents", "pydantic_ai": "pydantic-ai",
    "openai_sdk": "openai-sdk",
    "langgraph": "langgraph", "llamaindex": "llamaindex", "crewai": "crewai", "mcp": "mcp", "go": "go",
}  # fmt: skip
_SHARED = (PROJECT / "docs" / "tutorials.md").read_text(encoding="utf-8")
_SYSTEM = {"assistant.py", "server.js", "server.py", "main.go"}
_TALK = (
    "Êtes-vous ouverts aujourd’hui ?\nTrois pains, s’il vous plaît.\n/expect\n/expect contains KES 195\n/save by_chat\n"
)
_CLIENTS = os.environ.get("RATIBA_TEST_CLIENTS")


def page_of(name: str) -> str:
    return (PROJECT / "docs" / f"{_PAGES[name]}.md").read_text(encoding="utf-8")


def installed(configuration: str, clients: Path) -> str:
    """The configuration with the packages that ``make test-clients`` has installed instead of its set-up."""
    (packages,) = clients.glob("lib/python3*/site-packages")
    instead = f"  environment: {{PYTHONPATH: {packages}}}\n"
    if "npm" in configuration:
        instead = f"  setup: [ln, -s, {clients / 'node' / 'node_modules'}, node_modules]\n"
    if "[go," in configuration:
        return configuration
    if "  environment: {" in configuration:
        instead = instead.replace("}\n", ", ").replace("  environment: {", "")
        configuration = configuration.replace("  environment: {", f"  environment: {{{instead}")
        instead = ""
    return re.sub(r"  setup: .*\n  setup_reads: .*\n(?:  python: .*\n)?", instead, configuration)


def test_every_tutorial_has_a_page() -> None:
    assert {path.name for path in _TUTORIALS.iterdir() if path.is_dir()} == set(_PAGES)


@pytest.mark.parametrize("name", _PAGES)
def test_the_files_of_a_page_are_those_of_its_folder(name: str) -> None:
    files = dict(re.findall(r"```\w+\n(?://|#) ([\w./]+)\n(.*?)```", page_of(name) + _SHARED, re.DOTALL))
    system = {path.name for path in (_TUTORIALS / name).iterdir()} & _SYSTEM
    assert system
    assert set(files) == {".github/ratiba.yml", "scenarios/order_bread.yaml", *system}
    for path, content in files.items():
        assert content in (_TUTORIALS / name / path).read_text(encoding="utf-8"), path
    assert "tutorials.md#run-it" in page_of(name)
    assert f"{_PAGES[name]}.md" in _SHARED


@pytest.mark.parametrize("name", _PAGES)
def test_its_packages_have_the_versions_that_the_clients_are_tested_with(name: str) -> None:
    required = _TUTORIALS / name / "requirements.txt"
    locked = (PROJECT / "requirements" / "clients.txt").read_text(encoding="utf-8")
    for line in required.read_text(encoding="utf-8").splitlines() if required.exists() else []:
        assert f"\n{line.replace('[openai]', '')} \\" in locked


@pytest.mark.processes
@pytest.mark.skipif(_CLIENTS is None, reason="make test-clients installs the frameworks and runs the tutorials")
@pytest.mark.parametrize("name", _PAGES)
def test_its_commands_pass_and_its_change_is_red(name: str, tmp_path: Path) -> None:
    if name == "go" and shutil.which("go") is None:
        pytest.skip("Go is not installed")
    folder = tmp_path / "bakery"
    shutil.copytree(_TUTORIALS / name, folder)
    configuration = folder / ".github" / "ratiba.yml"
    configuration.write_text(installed(configuration.read_text(), Path(_CLIENTS or "").absolute()))
    GitRepository(folder).commit({})
    programs = f"{PROJECT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def run(command: str, typed: str = "") -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "-ec", command],
            input=typed,
            cwd=folder,
            env={"PATH": programs, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return done.returncode, done.stdout + done.stderr

    right, broken = re.findall(r"```sh\n(.*?)```", _SHARED, re.DOTALL)
    code, printed = run(right)
    assert code == 0, printed
    assert "## Passed" in printed
    assert "bypass" not in printed
    code, printed = run("ratiba chat --scenario order_bread --mutants 0", typed=_TALK)
    assert code == 0, printed
    ((path, before, after),) = re.findall(r"In `(.+?)`, replace `(.+?)` with `(.+?)` and \[run", page_of(name))
    text = (folder / path).read_text(encoding="utf-8")
    assert before in text
    (folder / path).write_text(text.replace(before, after), encoding="utf-8")
    code, printed = run(broken)
    assert code == 1, printed
    assert "KES 195" in printed
    code, printed = run("ratiba gate --llm replay --mode blocking --scenario by_chat")
    assert code == 1, printed
