"""The quickstart from an empty folder by its text alone: green, then red by the line of the prompt."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes
PROJECT = Path(__file__).parents[2]
_PAGE = (PROJECT / "docs" / "quickstart.md").read_text(encoding="utf-8")
_FILES = dict(re.findall(r"```\w+\n# ([\w./]+)\n(.*?)```", _PAGE, re.DOTALL))
(_PROMPT,) = re.findall(r"```text\n(.*?)```", _PAGE, re.DOTALL)
_, _GIT, _PYTHON, _NODE, _RECORD, _RED = re.findall(r"```bash\n(.*?)```", _PAGE, re.DOTALL)
_REMOVED = "Call place_order for an order.\n"
_CLIENTS = os.environ.get("RATIBA_TEST_CLIENTS")


@pytest.fixture
def port(tmp_path: Path) -> Iterator[str]:
    """The port of the program of the page, which listens."""
    program = tmp_path / "stand_in_model.py"
    program.write_text(_FILES["stand_in_model.py"].replace("PORT = 8081", "PORT = 0"), encoding="utf-8")
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        yield running.stdout.readline().rpartition(":")[2].partition("/")[0]
        running.terminate()


@pytest.mark.parametrize("name", ["openai_sdk", "express"])
def test_a_prompt_edit_is_red_without_a_key_and_its_line_is_named(name: str, tmp_path: Path, port: str) -> None:
    if name == "express" and _CLIENTS is None:
        pytest.skip("make test-clients installs Express and OpenAI's SDK for Node")
    (tmp_path / ".gitconfig").write_text("[user]\n  name = A Tester\n  email = tester@example.invalid\n", "utf-8")
    folder = tmp_path / "bot"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts" / "baker.md").write_text(_PROMPT, encoding="utf-8")
    (folder / "stand_in_model.py").write_text(_FILES["stand_in_model.py"], encoding="utf-8")
    for file in ("assistant.py", "server.js", "package.json"):
        if (PROJECT / "examples" / "tutorials" / name / file).exists():
            shutil.copy(PROJECT / "examples" / "tutorials" / name / file, folder)
    programs = f"{PROJECT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def run(command: str) -> tuple[int, str]:
        variables = "export RATIBA_OPENAI_API_KEY=not-a-key RATIBA_OPENAI_BASE_URL=http://127.0.0.1:8081/v1\n"
        assert variables in _RECORD
        done = subprocess.run(
            ["sh", "-ec", (variables + command).replace("8081", port)],
            cwd=folder,
            env={"PATH": programs, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return done.returncode, done.stdout + done.stderr

    code, printed = run(_GIT + (_NODE if name == "express" else _PYTHON))
    assert code == 0, printed
    configuration = folder / ".github" / "ratiba.yml"
    if name == "express":
        (shown,) = re.findall(r"```yaml\n( +system:\n.*?)```", _PAGE, re.DOTALL)
        called = textwrap.dedent(shown.rstrip(" ")).partition("\n")[2]
        text = re.sub(r"  http:\n(?:    .*\n)+", lambda _: called, configuration.read_text(encoding="utf-8"))
        modules = Path(_CLIENTS or "").absolute() / "node" / "node_modules"
        setup = f"  setup: [ln, -s, {modules}, node_modules]\n"
        text = re.sub(r"  setup: .*\n(?:  setup_reads: .*\n)?", setup, text)
        configuration.write_text(text, encoding="utf-8")
    (folder / "scenarios" / "first_conversation.yaml").write_text(
        _FILES["scenarios/first_conversation.yaml"], encoding="utf-8"
    )
    code, printed = run(_RECORD)
    assert code == 0, printed
    assert "Passed: 1 of 1 scenario" in printed
    assert "2 of 2 replayed answers were written by hand" in printed
    prompt = folder / "prompts" / "baker.md"
    assert _REMOVED in prompt.read_text(encoding="utf-8")
    prompt.write_text(prompt.read_text(encoding="utf-8").replace(_REMOVED, ""), encoding="utf-8")
    code, printed = run(_RED)
    assert code == 1, printed
    assert "**Which line did it:** `prompts/baker.md` line 2" in printed
    prompt.write_text(_PROMPT, encoding="utf-8")
    code, printed = run(_RED)
    assert code == 0, printed
