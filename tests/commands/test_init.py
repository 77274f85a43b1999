import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from ratiba_action.authoring.starter_answers import StarterAnswers, ask_questions
from ratiba_action.config.configuration import read_configuration
from ratiba_action.decide.rules import DEFAULT_RULES, RuleBook, parse_rules
from ratiba_action.model.change import Mode
from ratiba_action.money.pricing import model_family
from tests.support.gate_forks import GateForks

PROJECT = Path(__file__).parents[2]
WORKFLOW = ".github/workflows/eval-on-prompt-change.yml"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A stranger's environment: nothing of ours, no key."""
    (tmp_path / "home").mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(folder)], check=True)
    return folder


Ratiba = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs a command line in the empty repository, given its words."""


@pytest.fixture
def ratiba(forks: GateForks, empty: Path, home: dict[str, str]) -> Ratiba:
    return lambda *words: forks.run(words, empty, home)


def written(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and ".git/" not in f"{path}/"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize(
    ("kind", "language"),
    [
        *(("python", "en"), ("python", "fr"), ("function", "en"), ("function", "fr")),
        *(("prompt", "sw"), ("command", "en"), ("langgraph", "fr"), ("http", "fr")),
    ],
)
def test_what_it_writes_passes_at_once_without_a_key(kind: str, language: str, ratiba: Ratiba) -> None:
    assert ratiba("init", "--yes", "--kind", kind, "--language", language).returncode == 0
    checked = ratiba("validate")
    assert (checked.returncode, checked.stdout) == (0, "1 scenario, 1 turn: no mistake found.\n")
    gate = ratiba("gate", "--json")
    assert gate.returncode == 0, gate.stderr
    assert json.loads(gate.stdout)["conclusion"] == "passed"


@pytest.mark.parametrize(
    ("variable", "models"),
    [("OPENAI_API_KEY", ("gpt-5", "gpt-5.6")), ("RATIBA_ANTHROPIC_API_KEY", ("claude-sonnet-5-5", "claude-opus-5-5"))],
)
def test_a_team_with_one_key_gets_a_judge_of_that_provider_and_its_own_prompt_file(
    variable: str, models: tuple[str, str], empty: Path, home: dict[str, str], forks: GateForks
) -> None:
    system, judge = models
    (empty / "support.md").write_text("Be brief.\n")
    words = ("init", "--yes", "--kind", "prompt", "--prompts", "support.md")
    assert forks.run(words, empty, {**home, variable: "planted-0123456789"}).returncode == 0
    text = (empty / ".github/ratiba.yml").read_text(encoding="utf-8")
    written = yaml.safe_load(text)
    assert (written["system"]["prompt"]["file"], written["system"]["prompt"]["model"]) == ("support.md", system)
    assert written["judge"] == {
        "provider": written["system"]["prompt"]["provider"],
        "model": judge,
        "cross_check": None,
    }
    assert "planted" not in text
    assert (empty / "support.md").read_text() == "Be brief.\n"
    assert not (empty / "prompts").exists()
    gate = forks.run(("gate", "--json"), empty, home)
    assert json.loads(gate.stdout)["conclusion"] == "passed", gate.stderr


@pytest.mark.parametrize("variable", ["RATIBA_OPENAI_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"])
def test_the_first_run_that_it_names_calls_no_model_whatever_key_is_there(
    variable: str, empty: Path, home: dict[str, str], forks: GateForks
) -> None:
    with_key = {**home, variable: "planted-0123456789"}
    named = forks.run(("init", "--yes"), empty, with_key).stdout.partition("1. ratiba ")[2].partition("#")[0].split()
    gate = forks.run((*named, "--json"), empty, with_key)
    assert gate.returncode == 0, gate.stderr
    assert json.loads(gate.stdout)["conclusion"] == "passed"
    assert "Models are called" not in gate.stderr


def test_a_team_with_both_keys_gets_judge_and_cross_check_of_two_families(
    empty: Path, home: dict[str, str], forks: GateForks
) -> None:
    keys = {"ANTHROPIC_API_KEY": "planted-0123456789", "OPENAI_API_KEY": "planted-9876543210"}
    assert forks.run(("init", "--yes", "--kind", "prompt"), empty, {**home, **keys}).returncode == 0
    content = (empty / ".github/ratiba.yml").read_bytes()
    assert b"planted" not in content
    judge = read_configuration("ratiba.yml", content).judge
    assert judge.cross_check is not None
    assert (judge.provider, judge.cross_check.provider) == ("anthropic", "openai")
    assert model_family(judge.model) != model_family(judge.cross_check.model)


@pytest.mark.parametrize(
    ("variables", "judges"),
    [
        (("GEMINI_API_KEY",), ["gemini"]),
        (("GROQ_API_KEY", "OPENAI_API_KEY"), ["openai", "groq"]),
        (("OPENROUTER_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY"), ["gemini", "mistral"]),
        (("OPENROUTER_API_KEY", "GEMINI_API_KEY"), ["gemini"]),  # both models are Gemini's
    ],
)
def test_judge_and_cross_check_are_of_the_providers_whose_keys_are_there(
    variables: tuple[str, ...], judges: list[str], empty: Path, home: dict[str, str], forks: GateForks
) -> None:
    keys = dict.fromkeys(variables, "planted-0123456789")
    done = forks.run(("init", "--yes"), empty, {**home, **keys})
    assert done.returncode == 0
    # The configuration names the other providers' variables, so only a replay is sure to call no judge.
    assert "ratiba gate --llm replay" in done.stdout
    assert ("Without --llm replay the gate calls the judge" in done.stdout) == (judges != ["openai"])
    content = (empty / ".github/ratiba.yml").read_bytes()
    assert b"planted" not in content
    written = read_configuration("ratiba.yml", content)
    check = written.judge.cross_check
    assert [written.judge.provider, *([check.provider] if check is not None else [])] == judges
    assert set(written.providers) == set(judges) - {"openai"}
    assert check is None or model_family(check.model) != model_family(written.judge.model)


def test_the_grade_that_it_writes_says_that_it_was_written_by_hand(empty: Path, ratiba: Ratiba) -> None:
    ratiba("init", "--yes")
    (line,) = (empty / "scenarios/recordings/first_conversation.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["source"] == "authored"


def test_no_file_that_is_there_is_changed_and_nothing_is_written_beside_it(empty: Path, ratiba: Ratiba) -> None:
    (empty / "ratiba_adapter.py").write_text("mine = True\n")
    (empty / ".github").mkdir()
    (empty / ".github" / "ratiba.yml").symlink_to("nowhere")
    refused = ratiba("init", "--yes")
    assert refused.returncode == 2
    assert "  .github/ratiba.yml\n  ratiba_adapter.py\n" in refused.stderr
    assert written(empty) == {"ratiba_adapter.py": b"mine = True\n"}


@pytest.mark.parametrize(
    ("files", "lines"),
    [
        ({"package.json": '{"scripts": {"start": "node s.js"}}'}, ['serve: {command: ["npm", "start"]}']),
        (
            {"package.json": '{"scripts": {"start": "x"}, "dependencies": {"a": "1"}}', "package-lock.json": "{}"},
            [
                "setup: [npm, ci]",
                "setup_reads: [package.json, package-lock.json]",
                'serve: {command: ["npm", "start"]}',
            ],
        ),
        ({"package.json": "{}", "pnpm-lock.yaml": ""}, ["# setup: [pnpm, install, --frozen-lockfile]"]),
        ({"package.json": "not JSON"}, ["adapter: ratiba_adapter:Adapter"]),
        (
            {"requirements.txt": ""},
            ["# setup: [sh, -c, python3 -m venv .venv && .venv/bin/pip install -r requirements.t"],
        ),
        (
            {"requirements-prod.txt": ""},
            ["install -r requirements-prod.txt]", "# setup_reads: [requirements-prod.txt]"],
        ),
        ({"pyproject.toml": "", "uv.lock": ""}, ["# setup: [uv, sync, --frozen]", "# python: .venv/bin/python"]),
        ({"pyproject.toml": ""}, [".venv/bin/pip install .]"]),
        ({"go.mod": ""}, ["setup: [go, build, -o, server, .]", 'serve: {command: ["./server"]}']),
        (
            {"pyproject.toml": "", "poetry.lock": ""},
            [
                "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install --no-interaction --only main --no-root]",
                "# setup_reads: [pyproject.toml, poetry.lock]",
                "# python: .venv/bin/python",
            ],
        ),
        (
            {"pyproject.toml": "", "poetry.lock": '[package.source]\ntype = "directory"\nurl = "own"\n'},
            ["--no-root]  # uncomment for your own system, before the first merge\n  # python: .venv/bin/python"],
        ),
        (
            {"Gemfile": "gem 'rails', '~> 8'\ngem 'puma'\n", "config.ru": "", "config/application.rb": ""},
            ['serve: {command: ["bundle", "exec", "rails", "server", "-b", "127.0.0.1", "-p", "{port}"]}'],
        ),
        (
            {"Gemfile": 'gem("puma")\n', "config.ru": "run App\n"},
            [
                "  setup: [sh, -c, bundle config set --local path vendor/bundle && bundle install]  # installs",
                'serve: {command: ["bundle", "exec", "puma", "-b", "tcp://127.0.0.1:{port}"]}',
            ],
        ),
        (
            {"Gemfile": "# gem 'puma'\ngem 'rackup'\n", "config.ru": "", "Dockerfile": ""},
            ['serve: {command: ["bundle", "exec", "rackup", "-o", "127.0.0.1", "-p", "{port}"]}'],
        ),
        (
            {"Gemfile": "  gem 'sinatra'\n", "app.rb": ""},
            ['serve: {command: ["bundle", "exec", "ruby", "app.rb", "-o", "127.0.0.1", "-p", "{port}"]}'],
        ),
        ({"Gemfile": "gem 'puma-dev'\n", "app.rb": ""}, ["adapter: ratiba_adapter:Adapter"]),
        ({"Gemfile": ""}, ["# setup: [sh, -c, bundle config set --local path vendor/bundle && bundle install]"]),
        (
            {"package.json": '{"scripts": {"start": "x", "build": "tsc"}}', "package-lock.json": "{}"},
            ["  setup: [sh, -c, npm ci && npm run build]  # installs its packages\n# suite"],
        ),
        (
            {"package.json": '{"scripts": {"start": "x"}}', "package-lock.json": "{}", ".npmrc": ""},
            ["setup_reads: [package.json, package-lock.json, .npmrc]"],
        ),
        (
            {"package.json": '{"scripts": {"start": "x", "prepare": "y"}}', "package-lock.json": "{}"},
            ["  setup: [npm, ci]  # installs its packages\n# suite"],
        ),
        (
            {"package.json": '{"scripts": {"start": "x"}}', "yarn.lock": "__metadata:\n  version: 8\n"},
            ["setup: [yarn, install, --immutable]"],
        ),
        (
            {"requirements.txt": "openai\n-r more.txt\n"},
            ["-r requirements.txt]  # uncomment for your own system, before the first merge\n  # python:"],
        ),
        ({"requirements.txt": "openai==1 \\\n    --hash=sha256:00\n"}, ["# setup_reads: [requirements.txt]"]),
        ({"requirements-dev.txt": "", "pyproject.toml": ""}, [".venv/bin/pip install .]"]),
        ({"Dockerfile": "FROM bot\nexpose 3000/tcp 9090\n"}, ["container: {port: 3000}", "127.0.0.1:{port}/chat"]),
        ({"Dockerfile": "FROM bot\n", "Gemfile": ""}, ["container: {port: 8000}"]),
        (
            {"Dockerfile": "EXPOSE 3000", "package.json": '{"scripts": {"start": "node s.js"}}'},
            ['serve: {command: ["npm", "start"]}'],
        ),
        ({"Dockerfile": "EXPOSE 3000", "requirements.txt": ""}, ["adapter: ratiba_adapter:Adapter"]),
    ],
)
def test_set_up_is_found_in_the_repository_s_own_files(
    files: dict[str, str], lines: list[str], empty: Path, ratiba: Ratiba
) -> None:
    for name, content in files.items():
        (empty / name).parent.mkdir(exist_ok=True)
        (empty / name).write_text(content)
    done = ratiba("init", "--yes", "--language", "fr")
    assert done.returncode == 0, done.stderr
    configuration = (empty / ".github/ratiba.yml").read_text()
    assert [line for line in lines if line not in configuration] == [], configuration
    assert "price_per_turn_usd" not in configuration
    assert ratiba("validate").returncode == 0


def test_the_workflow_has_the_line_of_each_key_that_is_here(
    empty: Path, home: dict[str, str], forks: GateForks
) -> None:
    workflow = empty / ".github/workflows/eval-on-prompt-change.yml"
    assert forks.run(["init", "--yes"], empty, home | {"OPENAI_API_KEY": "sk-x"}).returncode == 0
    (job,) = yaml.safe_load(workflow.read_text())["jobs"].values()
    assert job["secrets"] == {"openai-api-key": "${{ secrets.OPENAI_API_KEY }}"}


def test_the_workflow_has_the_key_of_a_provider_that_the_configuration_declares(
    empty: Path, home: dict[str, str], forks: GateForks
) -> None:
    assert forks.run(["init", "--yes"], empty, home | {"GROQ_API_KEY": "planted-0123"}).returncode == 0
    (job,) = yaml.safe_load((empty / WORKFLOW).read_text())["jobs"].values()
    assert job["secrets"] == {"provider-keys": "GROQ_API_KEY=${{ secrets.GROQ_API_KEY }}"}
    assert "planted" not in (empty / WORKFLOW).read_text()


def test_a_server_that_the_gate_does_not_start_gets_the_workflow_with_room_for_its_step(
    empty: Path, home: dict[str, str], forks: GateForks
) -> None:
    words = ["init", "--yes", "--kind", "http", "--url", "http://127.0.0.1:1/say", "--name", "salon"]
    assert forks.run(words, empty, home | {"OPENAI_API_KEY": "sk-x"}).returncode == 0
    text = (empty / WORKFLOW).read_text(encoding="utf-8")
    (evaluate,) = [step for step in yaml.safe_load(text)["jobs"]["eval"]["steps"] if step.get("id") == "gate"]
    assert evaluate["uses"] == "OWNER/ratiba-eval-gate@COMMIT"
    assert (evaluate["with"]["name"], evaluate["with"]["openai-api-key"]) == (
        "salon",
        "${{ secrets.OPENAI_API_KEY }}",
    )
    assert re.findall(r"name: (.+-(?:report|baseline))\n", text) == ["salon-report", "salon-baseline"]


@pytest.mark.parametrize(("environment", "written"), [({}, True), ({"OPENAI_API_KEY": "sk-0123456789"}, False)])
def test_without_a_key_no_judge_scores_a_server_of_ones_own(
    environment: dict[str, str], empty: Path, home: dict[str, str], forks: GateForks, *, written: bool
) -> None:
    (empty / "package.json").write_text('{"scripts": {"start": "node server.js"}}')
    assert forks.run(["init", "--yes"], empty, home | environment).returncode == 0
    assert ("metrics: {fluency: false}" in (empty / ".github/ratiba.yml").read_text()) is written
    assert "written by hand" not in (empty / "scenarios/first_conversation.yaml").read_text()
    assert forks.run(["validate"], empty, home).returncode == 0


def test_a_server_of_ones_own_is_asked_where_it_answers(ratiba: Ratiba) -> None:
    done = ratiba("init", "--yes", "--kind", "http", "--language", "fr", "--url", "http://127.0.0.1:1/say")
    assert done.stdout.rpartition("Next:")[2].strip().startswith("1. Start your server")
    assert ratiba("validate").returncode == 0
    gate = ratiba("gate")
    assert gate.returncode == 3
    assert "127.0.0.1:1" in gate.stdout


def test_a_second_time_it_refuses_and_changes_nothing(empty: Path, ratiba: Ratiba) -> None:
    ratiba("init", "--yes")
    before = written(empty)
    assert ratiba("init", "--yes", "--language", "sw").returncode == 2
    assert written(empty) == before


def test_nothing_is_written_through_a_link_that_leads_out(empty: Path, tmp_path: Path, ratiba: Ratiba) -> None:
    (tmp_path / "elsewhere").mkdir()
    (empty / "scenarios").symlink_to(tmp_path / "elsewhere")
    refused = ratiba("init", "--yes")
    assert refused.returncode == 2
    assert "behind a symbolic link" in refused.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert written(empty) == {}


def test_the_workflow_is_the_one_of_the_documentation_for_this_branch(empty: Path, ratiba: Ratiba) -> None:
    ratiba("init", "--yes")
    page = (PROJECT / "docs/workflows.md").read_text(encoding="utf-8")
    text = (empty / WORKFLOW).read_text(encoding="utf-8")
    assert 'branches: ["trunk"]' in text
    usual = text.replace('["trunk"]', "[main]").partition("    # secrets:\n")[0]
    assert f"```yaml\n{usual}```" in page


@pytest.mark.parametrize(
    ("files", "ignored", "step"),
    [
        ({"requirements.txt": "openai\n"}, ".venv/\n", ""),
        ({"requirements.txt": "openai\n", ".gitignore": "*.log\n"}, "*.log\n", "echo .venv/ >> .gitignore"),
        ({"requirements.txt": "openai\n", ".gitignore": "/.venv\n"}, "/.venv\n", ""),
        ({"package.json": '{"scripts": {"start": "node s.js"}}', "package-lock.json": "{}"}, "node_modules/\n", ""),
    ],
)
def test_what_set_up_installs_is_ignored_by_git(
    files: dict[str, str], ignored: str, step: str, empty: Path, ratiba: Ratiba
) -> None:
    for name, content in files.items():
        (empty / name).write_text(content)
    options = () if "package.json" in files else ("--function", "bot:answer")
    steps = json.loads(ratiba("init", "--yes", "--json", *options).stdout)["next"]
    there = empty / ".gitignore"
    assert (there.read_text() if there.exists() else "") == ignored
    assert [each.partition("  #")[0] for each in steps if "gitignore" in each] == ([step] if step else [])


def test_a_workflow_of_a_node_bot_says_that_the_image_has_no_node_and_where_a_key_goes(
    empty: Path, ratiba: Ratiba
) -> None:
    (empty / "package.json").write_text('{"scripts": {"start": "node s.js"}}')
    assert ratiba("init", "--yes").returncode == 0
    text = (empty / WORKFLOW).read_text(encoding="utf-8")
    assert "    #   config: .github/container.yml  # the action's image has no npm" in text
    assert "    #   openai-api-key: ${{ secrets.OPENAI_API_KEY }}  # without one" in text
    (job,) = yaml.safe_load(text.replace("    # secrets:", "    secrets:").replace("    #   openai", "      openai"))[
        "jobs"
    ].values()
    assert list(job["secrets"]) == ["openai-api-key"]


def test_name_action_and_prompts_stand_where_they_belong(empty: Path, ratiba: Ratiba) -> None:
    options = ("--name", "salon", "--action", "salon/gate@0123abc", "--prompts", "prompts/*.md more/*.txt")
    assert ratiba("init", "--yes", *options).returncode == 0
    (job,) = yaml.safe_load((empty / WORKFLOW).read_text(encoding="utf-8"))["jobs"].values()
    assert (job["uses"], job["with"]["name"]) == ("salon/gate/.github/workflows/gate.yml@0123abc", "salon")
    system = yaml.safe_load((empty / ".github/ratiba.yml").read_text(encoding="utf-8"))["system"]
    assert system["prompts"] == ["prompts/*.md", "more/*.txt"]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--kind", "cobol", "Give one of"),
        ("--language", "English", "an ISO 639 code"),
        ("--prompts", "../secret/*", "not a glob pattern"),
        ("--prompts", "x'}\nevil: [", "not a glob pattern"),
        ("--name", "a b", "letters, digits"),
        ("--url", "ftp://x", "is not allowed"),
        ("--function", "bot:answer", "--kind http calls no function"),
        ("--action", "x\n      run: evil", "owner/repository@commit"),
    ],
)
def test_a_wrong_option_writes_nothing(empty: Path, option: str, value: str, message: str, ratiba: Ratiba) -> None:
    refused = ratiba("init", "--yes", "--kind", "http", option, value)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
    assert written(empty) == {}


@pytest.mark.parametrize("value", ["bot", "bot.py", "bot:answer: evil", "bot:answer\nevil: x", "-m:x"])
def test_a_function_is_named_by_its_module(empty: Path, value: str, ratiba: Ratiba) -> None:
    refused = ratiba("init", "--yes", f"--function={value}")
    assert (refused.returncode, written(empty)) == (2, {})
    assert "Give module:name" in refused.stderr


def test_a_function_of_ones_own_is_called_at_once_under_its_own_interpreter(empty: Path, ratiba: Ratiba) -> None:
    (empty / "bot.py").write_text("def answer(message):\n    return 'From 9:00.'\n")
    (empty / "requirements.txt").touch()
    assert ratiba("init", "--yes", "--function", "bot:answer").returncode == 0
    assert sorted(path.name for path in empty.glob("*.py")) == ["bot.py"]
    assert not (empty / "scenarios/recordings").exists()
    system = yaml.safe_load((empty / ".github/ratiba.yml").read_text())["system"]
    assert (system["adapter"], system["database"], system["python"]) == ("bot:answer", False, ".venv/bin/python")
    gate = ratiba("gate", "--llm", "replay", "--json")
    assert json.loads(gate.stdout)["conclusion"] == "passed", gate.stderr


def test_without_a_terminal_it_says_how_to_go_on(ratiba: Ratiba) -> None:
    refused = ratiba("init")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr


def test_for_programs_it_prints_json_and_asks_nothing(empty: Path, ratiba: Ratiba) -> None:
    output = json.loads(ratiba("init", "--json").stdout)
    assert set(output["written"]) == set(written(empty))
    assert output["next"][0].startswith("ratiba gate")


@pytest.mark.processes
def test_on_a_terminal_it_asks_and_takes_the_proposals(empty: Path, home: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"\nEnglish\nsw\n\nsalon\nblocking\n")
    done = subprocess.run(
        [sys.executable, "-m", "ratiba_action", "init"],
        cwd=empty,
        env=home,
        stdin=theirs,
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert "'English' is not valid: give an ISO 639 code" in done.stdout
    assert 'language: "sw"' in (empty / "scenarios/first_conversation.yaml").read_text(encoding="utf-8")
    assert 'name: "salon"' in (empty / WORKFLOW).read_text(encoding="utf-8")
    assert "blocking *" in (empty / WORKFLOW).read_text(encoding="utf-8")


def test_nothing_typed_takes_what_is_proposed() -> None:
    proposed = StarterAnswers(language="sw", prompts=("prompts/*.md",))
    asked: list[str] = []
    reported: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return ""

    assert ask_questions(proposed, answer, reported.append) == proposed
    proposals = [question.rpartition("[")[2] for question in asked]
    assert proposals == ["python]: ", "sw]: ", "prompts/*.md]: ", "ratiba]: ", "advisory]: "]
    assert any("python" in line for line in reported)


@pytest.mark.parametrize(("code", "mode"), [("advisory", Mode.ADVISORY), ("blocking", Mode.BLOCKING)])
def test_whether_code_blocks_is_asked_and_decides(code: str, mode: Mode, empty: Path, ratiba: Ratiba) -> None:
    assert ratiba("init", "--yes", "--code", code).returncode == 0
    (job,) = yaml.safe_load((empty / WORKFLOW).read_text())["jobs"].values()
    rules = RuleBook(parse_rules(job.get("with", {}).get("rules", DEFAULT_RULES)))
    modes = [rule.mode for rule in map(rules.rule_for, ("shop/booking.py", "notes.md")) if rule is not None]
    assert modes == [mode, Mode.SKIP]
