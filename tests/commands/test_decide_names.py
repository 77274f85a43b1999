"""Names that would escape the rules: links, letter case, code in the place of documentation, judging code."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.main import run
from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import pull_request_event

Content = str | bytes | None
Decide = Callable[..., dict[str, Any]]


class Link(str):
    """What a symbolic link holds."""

    __slots__ = ()


class Script(str):
    """The text of an executable file."""

    __slots__ = ()


class Submodule(str):
    """The commit that a submodule is at."""

    __slots__ = ()


def put(repository: GitRepository, files: Mapping[str, Content]) -> str:
    """Write files, links, executables and submodules, and commit them."""
    plain: dict[str, Content] = {}
    submodules = {name: content for name, content in files.items() if isinstance(content, Submodule)}
    for name, content in files.items():
        if name in submodules:
            continue
        path = repository.folder / name
        if path.is_symlink() or (isinstance(content, Link) and path.exists()):
            path.unlink()
        if isinstance(content, Link):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(content)
        elif content is None:
            path.unlink(missing_ok=True)
        else:
            plain[name] = content
    repository.write(plain)
    for name, content in plain.items():
        if isinstance(content, Script):
            (repository.folder / name).chmod(0o755)
    repository.git("add", "--all", "--force")
    for name, commit in submodules.items():
        repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{name}")
    repository.git("commit", "--quiet", "--allow-empty", "--message", "A change")
    return repository.git("rev-parse", "HEAD")


@pytest.fixture
def decide(repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Decide:
    """Decide about a pull request, given its base's files and those that it writes."""

    def decided(base: Mapping[str, Any], head: Mapping[str, Any], *options: str) -> dict[str, Any]:
        before = put(repository, {"app.py": "1", **base})
        after = put(repository, head)
        event = tmp_path / "event.json"
        event.write_text(json.dumps(pull_request_event(before, after, files=len(head))))
        arguments = ["decide", "--json", "--repo", str(repository.folder), "--event", str(event)]
        assert run([*arguments, "--event-name", "pull_request", *options], repository.environment) == 0
        printed: dict[str, Any] = json.loads(capsys.readouterr().out)
        return printed

    return decided


def reason(path: str, rule: str, mode: str, why: str) -> dict[str, str]:
    return {"path": path, "rule": rule, "mode": mode, "why": why}


def prompts(*patterns: str, root: str = ".") -> str:
    lines = "".join(f"    - {pattern}\n" for pattern in patterns)
    return f"system:\n  root: {root}\n  adapter: app:App\n  prompts:\n{lines}"


CONFIG = ".github/ratiba.yml"


def test_an_edit_of_what_a_prompt_links_to_is_an_edit_of_the_prompt(decide: Decide) -> None:
    base = {"docs/greeting.md": "Hello", "prompts/greeting.md": Link("../docs/greeting.md")}

    printed = decide(base, {"docs/greeting.md": "Go away"})

    assert printed["mode"] == "blocking"
    why = "matches the rule 'blocking prompts/' as prompts/greeting.md, through a symbolic link"
    assert printed["reasons"][0] == reason("docs/greeting.md", "prompts/", "blocking", why)


@pytest.mark.parametrize(
    ("base", "head"),
    [
        pytest.param({"docs/v1/a.md": "1", "prompts": Link("docs/v1")}, {"docs/v1/a.md": "2"}, id="folder"),
        pytest.param({"docs/v1/a.md": "1", "prompts": Link("docs/v1")}, {"docs/v1/new.md": "2"}, id="new file in it"),
        pytest.param(
            {"docs/a.md": "1", "docs/b.md": Link("a.md"), "prompts/a.md": Link("../docs/b.md")},
            {"docs/a.md": "2"},
            id="chain",
        ),
        pytest.param(
            {"docs/a.md": "1", "docs/b.md": "1", "docs/c.md": Link("a.md"), "prompts/a.md": Link("../docs/c.md")},
            {"docs/c.md": Link("b.md")},
            id="chain re-pointed in its middle",
        ),
        pytest.param(
            {"docs/v1/a.md": "1", "docs/now": Link("v1"), "prompts": Link("docs/now")},
            {"docs/v1/a.md": "2"},
            id="folder through a folder",
        ),
        pytest.param(
            {"docs/v1/a.md": "1", "docs/v2/a.md": "2", "docs/now": Link("v1"), "prompts": Link("docs/now")},
            {"docs/now": Link("v2")},
            id="folder through a folder re-pointed",
        ),
        pytest.param(
            {"docs/v1/sub/a.md": "1", "docs/x": Link("v1/sub"), "prompts/a.md": Link("../docs/x/../sub/a.md")},
            {"docs/v1/sub/a.md": "2"},
            id="dots behind a link",
        ),
        pytest.param(
            {"docs/a.md": "1", "prompts/a.md": Link("../docs/a.md")},
            {"prompts/a.md": None, "docs/a.md": "2"},
            id="removed with its target",
        ),
        pytest.param(
            {"docs/a.md": "1", CONFIG: prompts("docs/now/*.md"), "docs/v2/a.md": "2", "docs/now": Link("v1")},
            {"docs/now": Link("v2")},
            id="a configured prompt's folder",
        ),
        pytest.param(
            {"docs/v1/prompts/a.md": "1", "docs/v2/prompts/a.md": "2", "docs/now": Link("v1")},
            {"docs/now": Link("v2")},
            id="a folder with prompts in it",
        ),
        pytest.param(
            {"docs/text/a.md": "1", CONFIG: prompts("tone/*.md", root="system"), "system": Link("docs/text"),
             "docs/text/tone/a.md": "1"},
            {"docs/text/tone/a.md": "2"},
            id="a configured root",
        ),
        pytest.param(
            {"docs/a.md": "1", "prompts/new.md": Link("../docs/later.md")}, {"docs/later.md": "2"}, id="dangling"
        ),
        pytest.param(
            {"docs/a.md": "1"}, {"prompts/a.md": Link("../docs/a.md"), "docs/a.md": "2"}, id="new link"
        ),
        pytest.param(
            {"docs/a.md": "1", "everything": Link("."), "docs/prompts": Link("../everything/docs")},
            {"docs/a.md": "2"},
            id="a link to the whole repository",
        ),
        pytest.param(
            {"cases/a.yaml": "id: a\n", "scenarios": Link("cases")}, {"cases/notes.md": "2"}, id="scenarios"
        ),
    ],
)  # fmt: skip
def test_what_links_lead_to_is_judged_by_the_names_of_the_links(
    decide: Decide, base: Mapping[str, Any], head: Mapping[str, Any]
) -> None:
    printed = decide(base, head)

    assert printed["mode"] == "blocking", printed
    assert printed["reasons"][0]["path"] in head


@pytest.mark.parametrize("target", ["/opt/prompts", "../../elsewhere", "../.git/description", "../docs/../../x"])
def test_a_link_out_of_the_repository_is_a_doubt(decide: Decide, target: str) -> None:
    printed = decide({}, {"docs/x.md": Link(target)})

    assert printed["reasons"][0] == reason(
        "docs/x.md",
        "doubt",
        "blocking",
        "the symbolic link 'docs/x.md' leads out of the repository, so it is not known what changed behind it",
    )


def test_a_prompt_outside_of_the_repository_is_a_doubt_about_every_change(decide: Decide) -> None:
    printed = decide({"prompts/a.md": Link("/opt/a.md"), "README.md": "1"}, {"README.md": "2"})

    assert printed["mode"] == "blocking"
    assert "'prompts/a.md' leads out of the repository" in printed["reasons"][0]["why"]


def test_a_circle_of_links_is_a_doubt_and_ends(decide: Decide) -> None:
    printed = decide({"docs/a.md": Link("b.md"), "README.md": "1"}, {"docs/b.md": Link("a.md")})

    assert printed["mode"] == "blocking"
    assert "leads in a circle" in printed["reasons"][0]["why"]


def test_a_link_that_holds_itself_takes_no_time(decide: Decide) -> None:
    base = {f"docs/{name}": Link(".") for name in "abcdefgh"} | {"docs/x.md": "1"}

    assert decide(base, {"docs/x.md": "2"})["mode"] == "blocking"


@pytest.mark.parametrize(
    "name",
    ["scenarios/x.yaml", "scenarios/x.yaml2", "scenarios", "prompts/x.md", ".github/ratiba.yml", ".git-credentials"],
)
def test_a_link_to_a_name_that_is_too_long_is_no_surprise(decide: Decide, name: str) -> None:
    printed = decide({"prompts/greeting.md": "1"}, {name: Link("x" * 300), "prompts/greeting.md": "2"})

    assert printed["mode"] == "blocking"


def test_a_link_from_documentation_to_documentation_is_skipped(decide: Decide) -> None:
    base = {"docs/README.md": Link("../README.md"), "README.md": "1"}

    assert decide(base, {"README.md": "2"})["mode"] == "skip"


def test_a_dependency_file_behind_a_link_is_compared(decide: Decide) -> None:
    base = {"docs/pins.txt": "a==1.0\n", "requirements.txt": Link("docs/pins.txt")}

    printed = decide(base, {"docs/pins.txt": "a==2.0\n"})

    assert (
        printed["reasons"][0]["why"] == "a: major change, ==1.0 to ==2.0 as requirements.txt, through a symbolic link"
    )


@pytest.mark.parametrize(
    "path",
    [
        "docs/Prompts/a.md",
        "PROMPTS/a.MD",
        "app/System_Prompt.md",
        "app/SYSTEM_PROMPT",
        "app/system_prompt_sw.md",
        "prompt_templates/a.md",
        "app/Prompt_Templates/a.md",
        "booking-prompts/README.md",
        "app/greeting.prompt",
        "app/greeting.Prompt",
        "docs/system.jinja",
        "docs/persona.J2",
        "docs/FSM/notes.md",
        "docs/StateMachine.md",
    ],
)
def test_prompts_and_state_machines_block_in_any_letter_case(decide: Decide, path: str) -> None:
    printed = decide({}, {path: "You are"})

    assert printed["mode"] == "blocking", printed
    assert printed["reasons"][0]["rule"] != "no rule" or path == "app/SYSTEM_PROMPT"


PLACES = ("", "docs/", "Docs/", "doc/", "docs/a/b/", "notes.md/", "LICENSE/", "app/docs/", "AUTHORS.d/", "x.png/")
CODE = (
    *("x.py", "X.PY", "LICENSE_x.py", "notice.sh", "README.sh", "conf.py", "Makefile", "Dockerfile", "x.ipynb"),
    *("run", "x.zig", "x.yaml", "x.toml", "CMakeLists.txt", "x.js", "copying.mjs", "authors.rb", "LICENSE.so"),
    *("x.md.py", "x.txt.sh", "Jenkinsfile", "BUILD.bazel", "x.mdx", "README.py", "license-x.py", "x.pth", "setup.py"),
)
SCRIPTS: Mapping[str, Content] = {
    "run.md": Script("anything"),
    "LICENSE": Script("anything"),
    "start.txt": "#!/bin/sh\nanything",
    "README.md": b"#!/usr/bin/env python\n",
    "logo.png": b"#!/bin/sh\n",
}


@pytest.mark.parametrize("place", PLACES)
def test_code_is_never_documentation_by_its_name_or_place(decide: Decide, place: str) -> None:
    files = {place + name: content for name, content in (*((one, "1") for one in CODE), *SCRIPTS.items())}

    reasons = decide({}, files)["reasons"]

    assert {one["path"] for one in reasons} == set(files)
    assert {one["path"] for one in reasons if one["mode"] != "skip"} == set(files)


def test_the_reason_says_why_a_file_in_docs_is_code(decide: Decide) -> None:
    files = {"docs/run.md": Script("1"), "docs/tool.zig": "1", "docs/a.md": "#!/bin/sh\n", "LICENSE.so": "1"}
    assert decide({}, files)["reasons"] == [
        reason(
            "LICENSE.so",
            "no rule",
            "blocking",
            "no rule matches this file; it is no documentation, as its name is not that of a document",
        ),
        *(
            reason(path, "docs/", "advisory", f"matches the rule 'advisory docs/'; it is no documentation, as {why}")
            for path, why in (
                ("docs/a.md", "it begins with the line of a script ('#!')"),
                ("docs/run.md", "it is executable"),
                ("docs/tool.zig", "its name is not that of a document"),
            )
        ),
    ]


@pytest.mark.parametrize(
    "path", ["docs/a.md", "docs/a.html", "README.MD", "doc/logo.svg", "LICENSE", "docs/LICENSE.txt"]
)
def test_documentation_is_still_skipped(decide: Decide, path: str) -> None:
    assert decide({}, {path: "1"})["mode"] == "skip"


def test_a_submodule_is_no_documentation(decide: Decide, repository: GitRepository) -> None:
    commit = repository.commit({"README.md": "1"})
    base = {"docs/theme": Submodule(commit)}

    printed = decide(base, {"docs/theme": Submodule(repository.commit({"README.md": "2"}))})

    why = "it is a submodule, and what changed in it is not known; a rule of your own may name it"
    assert printed["reasons"] == [reason("docs/theme", "doubt", "blocking", why)]


@pytest.mark.parametrize(
    "touches",
    [
        "touches:\n  - other.md\n  # the price list\n  - docs/kb.md\n",
        "touches:\n  # the price list\n\n  - docs/kb.md  # prices\n",
        "touches: # prices\n  - docs/kb.md\n",
        "touches: [  # prices ]\n  other.md, # more\n  docs/kb.md]\n",
        "touches:\n- other.md\n\n# a comment at the margin\n\n- 'docs/kb.md'\n",
        '"touches": ["docs/kb.md"]\n',
    ],
)
def test_comments_inside_touches_hide_no_file(decide: Decide, touches: str) -> None:
    base = {"scenarios/a.yaml": f"id: a\n{touches}turns: []\n", "docs/kb.md": "1"}

    printed = decide(base, {"docs/kb.md": "2"})

    assert printed["reasons"][0] == reason(
        "docs/kb.md", "named", "advisory", "the system or a scenario names it (docs/kb.md)"
    )


@pytest.mark.parametrize(
    "touches", ["touches: *common\n", "touches: docs/kb.md\n", "touches: {a: b}\n", "touches: |\n  docs\n"]
)
def test_touches_in_a_form_that_is_not_understood_are_a_doubt(decide: Decide, touches: str) -> None:
    base = {"scenarios/a.yaml": f"id: a\n{touches}", "docs/kb.md": "1"}

    printed = decide(base, {"docs/kb.md": "2"})

    assert printed["mode"] == "blocking"
    why = printed["reasons"][0]["why"]
    assert "cannot be determined: scenarios/a.yaml:2: " in why


SCENARIO = "id: a\nassertions:\n  - {metric: %s, threshold: 1.0}\n"
RULE = "id: a\nrules:\n  - type: custom\n    value: ['%s']\n"


@pytest.mark.parametrize(
    ("base", "changed"),
    [
        ({"scenarios/a.yaml": SCENARIO % "evals:tone", "evals.py": "1"}, "evals.py"),
        ({"scenarios/a.yaml": RULE % "evals:tone", "evals.py": "1"}, "evals.py"),
        ({"scenarios/a.yaml": SCENARIO % "docs.tone:Tone.of", "docs/tone.py": "1"}, "docs/tone.py"),
        ({"scenarios/a.yaml": SCENARIO % "qa.tone:tone", "qa/tone.py": "1", "qa/words.txt": "1"}, "qa/words.txt"),
        ({"scenarios/a.yaml": SCENARIO % "qa.tone:tone", "qa/tone.py": "1", "qa/README.md": "1"}, "qa/README.md"),
        ({"scenarios/a.yaml": SCENARIO % "qa:tone", "qa/__init__.py": "1", "qa/x/y.py": "1"}, "qa/x/y.py"),
        ({"scenarios/a.yaml": SCENARIO % "evals:tone", "evals.py": "import help", "help.py": "1"}, "help.py"),
        (
            {
                "scenarios/a.yaml": SCENARIO % "evals:tone",
                "evals.py": "def f():\n    from lib.words import count",
                "lib/words.py": "from . import deep",
                "lib/deep.py": "1",
            },
            "lib/deep.py",
        ),
        (
            {
                "scenarios/a.yaml": SCENARIO % "qa.tone:tone",
                CONFIG: "system:\n  root: backend\n  adapter: app:App\n",
                "backend/qa/tone.py": "1",
            },
            "backend/qa/tone.py",
        ),
        ({"scenarios/a.yaml": SCENARIO % "qa.tone:tone", "src/qa/tone.py": "1"}, "src/qa/tone.py"),
        (
            {CONFIG: "system: {adapter: 'app:App'}\nmetrics:\n  rag:\n    - {metric: 'evals:tone', threshold: 1}\n",
             "evals.py": "1"},
            "evals.py",
        ),
        (
            {"scenarios/a.yaml": SCENARIO % "evals:tone", "evals.py": Link("docs/evals.md"), "docs/evals.md": "1"},
            "docs/evals.md",
        ),
    ],
)  # fmt: skip
def test_the_code_of_a_custom_metric_or_rule_always_blocks(
    decide: Decide, base: Mapping[str, Any], changed: str
) -> None:
    printed = decide(base, {changed: "2"}, "--rules", "advisory *\nskip *.md docs/")

    assert printed["mode"] == "blocking", printed
    assert printed["reasons"][0]["path"] == changed
    assert "a metric or rule of the repository" in printed["reasons"][0]["why"]


LOCK = '[[package]]\nname = "python-dateutil"\nversion = "1.0"\nsource = { registry = "https://pkg.example/simple" }\n'
TESTS = "system: {adapter: 'app:App'}\ntests: [tests/evals]\n"


@pytest.mark.parametrize(
    ("base", "added"),
    [
        ({"scenarios/a.yaml": RULE % "evals:tone", "evals.py": "import html.parser"}, "_markupbase.py"),
        ({"scenarios/a.yaml": RULE % "evals:tone", "evals.py": "1"}, "json/__init__.py"),
        ({"scenarios/a.yaml": RULE % "evals:tone", "evals.py": "1"}, "re.cpython-311-x86_64-linux-gnu.so"),
        ({"scenarios/a.yaml": RULE % "evals:tone", "evals.py": "1"}, "src/ast.py"),
        ({"scenarios/a.yaml": RULE % "evals:tone", "evals.py": "1", "uv.lock": LOCK}, "dateutil.py"),
        ({"scenarios/a.yaml": RULE % "evals:tone", "requirements.txt": "regex==1\n"}, "regex/__init__.py"),
        ({CONFIG: TESTS, "tests/evals/test_a.py": "def test_a(): pass\n"}, "pytest.py"),
        ({CONFIG: TESTS, "tests/evals/test_a.py": "def test_a(): pass\n"}, "tests/_pytest/__init__.py"),
    ],
)
def test_a_module_with_a_name_that_what_judges_imports_from_elsewhere_blocks(
    decide: Decide, base: Mapping[str, Any], added: str
) -> None:
    printed = decide(base, {added: "forged = True"}, "--rules", "advisory *")

    assert printed["mode"] == "blocking", printed
    assert "it has the name of a module" in printed["reasons"][0]["why"]


@pytest.mark.parametrize("added", ["app/json.py", "html/page.html", "tests.py", "docs/__init__.py", "own.py"])
def test_other_names_and_places_do_not_block_for_it(decide: Decide, added: str) -> None:
    base = {"scenarios/a.yaml": RULE % "evals:tone", "evals.py": "1", "requirements.txt": "regex==1\n"}

    assert decide(base, {added: "1"}, "--rules", "advisory *")["mode"] == "advisory"


def test_without_rules_metrics_and_tests_no_name_blocks(decide: Decide) -> None:
    assert decide({"scenarios/a.yaml": "id: a\n"}, {"json.py": "1"}, "--rules", "advisory *")["mode"] == "advisory"


def test_other_code_does_not_block_for_a_custom_metric(decide: Decide) -> None:
    base = {"scenarios/a.yaml": SCENARIO % "qa.tone:tone", "qa/tone.py": "import json", "json2.py": "1"}

    assert decide(base, {"json2.py": "2", "app.py": "2"})["mode"] == "advisory"


@pytest.mark.parametrize(
    ("configuration", "path"),
    [
        ("system:\n  adapter: docs.bot:Bot\n", "docs/bot.py"),
        ("system:\n  adapter: docs.bot:Bot\n", "docs/bot/notes.md"),
        ("system:\n  command: [python, docs/bot.md]\n", "docs/bot.md"),
        ('system:\n  command: ["sh", "-c", "exec ./docs/bot.txt --fast=1"]\n', "docs/bot.txt"),
        ("system:\n  adapter: app:App\n  setup: [sh, docs/setup.txt]\n", "docs/setup.txt"),
        ("system:\n  adapter: app:App\n  setup: [make]\n  setup_reads: [docs/pins.md]\n", "docs/pins.md"),
        ("system:\n  adapter: app:App\n  python: docs/python.md\n", "docs/python.md"),
        ("system:\n  langgraph: docs.graph:graph\n", "docs/graph.py"),
        ("system:\n  root: docs\n  adapter: bot:Bot\n", "docs/bot/x.md"),
    ],
)
def test_the_adapters_own_code_is_never_skipped(decide: Decide, configuration: str, path: str) -> None:
    assert decide({CONFIG: configuration}, {path: "1"})["mode"] != "skip"


@pytest.mark.parametrize(
    "base",
    [
        {"requirements.txt": "-r docs/pins.txt\n"},
        {"requirements/dev.txt": "a==1\n-c ../docs/pins.txt  # pins\n"},
        {"requirements.txt": "-rdocs/base.txt\n", "docs/base.txt": "--requirement=pins.txt\n"},
        {"pyproject.toml": '[tool.setuptools.dynamic]\ndependencies = {file = ["docs/pins.txt"]}\n'},
    ],
)
def test_a_file_that_a_dependency_file_includes_is_no_documentation(decide: Decide, base: Mapping[str, Any]) -> None:
    printed = decide({**base, "docs/pins.txt": "a==1.0\n"}, {"docs/pins.txt": "a==2.0\n"})

    assert printed["reasons"][0] == reason(
        "docs/pins.txt", "named", "blocking", "a dependency file includes it (/docs/pins.txt)"
    )
