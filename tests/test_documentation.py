"""What the documentation says is what the program does."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.checks.custom_code import evidence
from ratiba_action.checks.failure_rules import RULE_TYPES, validate_rule
from ratiba_action.cli import COMMANDS
from ratiba_action.config.configuration import read_configuration
from ratiba_action.metrics.aggregates import AGGREGATES
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.publish.publishing import OUTPUTS
from ratiba_action.settings.settings import INPUTS
from ratiba_action.suite.load import load_suite
from tests.support.cases import case, exchange
from tests.support.command_line_page import command_line_page

PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text(encoding="utf-8")
INPUTS_PAGE = (PROJECT / "docs/inputs.md").read_text(encoding="utf-8")
PAGES = [
    PROJECT / "README.md",
    PROJECT / "CONTRIBUTING.md",
    *sorted((PROJECT / "docs").rglob("*.md")),
    *sorted((PROJECT / "examples").glob("*/README.md")),
]

SITE = [page for page in PAGES if page.parent.parent != PROJECT / "examples"] + [
    PROJECT / "SECURITY.md",
    PROJECT / "CHANGELOG.md",
]
"""Pages of the documentation's site."""


def table(name: str) -> list[list[str]]:
    (block,) = re.findall(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", INPUTS_PAGE, re.DOTALL)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]]


def fenced(language: str) -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for block in re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            yield page, block


def shell_lines() -> list[str]:
    lines = [line.partition("  #")[0].strip() for _, block in fenced("sh") for line in block.splitlines()]
    return sorted({line for line in lines if line and not line.startswith("#")})


def test_the_table_of_inputs_is_the_settings() -> None:
    expected = [
        [
            f"`{entry.name}`",
            f"`{entry.environment_variable}`",
            f"`{entry.default}`" if entry.default else "empty",
            entry.help + (" (secret)" if entry.secret else ""),
        ]
        for entry in INPUTS
    ]
    assert table("inputs") == expected


def test_every_type_of_rule_has_a_row() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+)", (PROJECT / "docs/rules.md").read_text(), re.MULTILINE)
    assert set(RULE_TYPES) <= {name for row in rows for name in re.findall(r"\w+", row)}


def test_the_inputs_of_the_readme_are_some_of_them() -> None:
    described = {row[0]: row[3].removesuffix(" (secret)") for row in table("inputs")}
    rows = [
        line.strip("|").split("|") for line in README[README.index("## Inputs") :].splitlines() if line[:3] == "| `"
    ]
    assert len(rows) == 10
    assert {row[0].strip(): row[2].strip() for row in rows}.items() <= described.items()


def test_the_table_of_outputs_is_what_is_written() -> None:
    assert [row[0].strip("`") for row in table("outputs")] == list(OUTPUTS)


def test_every_shell_line_is_a_command_that_a_test_knows_how_to_run() -> None:
    unknown = [line for line in shell_lines() if shlex.split(line)[0] not in {"make", "ratiba", "pytest"}]
    assert unknown == []
    assert len(shell_lines()) > 10


@pytest.mark.parametrize("line", [line for line in shell_lines() if line.startswith("make ")])
def test_a_make_target_of_the_documentation_exists(line: str) -> None:
    target = shlex.split(line)[1]
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE)


def test_the_demo_of_the_makefile_is_the_one_that_the_tests_run() -> None:
    assert "examples/demo.py --pull-request $(PR)" in (PROJECT / "Makefile").read_text(encoding="utf-8")


def test_the_page_of_the_command_line_is_written_from_the_parsers() -> None:
    assert command_line_page() == (PROJECT / "docs/command-line.md").read_text("utf-8"), "run `make command-line`"


@pytest.mark.processes
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ratiba_action", command, "--help"], capture_output=True, text=True, check=True
    )
    assert f"example:\n  ratiba {command}" in done.stdout


def test_the_examples_of_configuration_are_accepted() -> None:
    blocks = [block for page, block in fenced("yaml") if page.name == "configuration.md"]
    assert len(blocks) == 1
    assert read_configuration("ratiba.yml", blocks[0].encode()).pass_rate == 0.80


def test_the_examples_of_scenarios_are_accepted() -> None:
    blocks = [block for _, block in fenced("yaml") if block.startswith("id: ")]
    scenarios = [
        load_suite({"scenarios/a.yaml": block.encode()}, metric_problems, validate_rule).scenarios[0]
        for block in blocks
        if "\ncases: " not in block
    ]
    assert {"spa_booking_swahili_happy", "order_status"} <= {scenario.id for scenario in scenarios}
    assert {scenario.layer for scenario in scenarios} == {"fsm", "turn", "replay", "golden", "production"}


def test_the_example_of_a_rule_and_a_metric_of_ones_own_runs() -> None:
    (source,) = (block for page, block in fenced("python") if page.name == "rules.md")
    own: dict[str, Any] = {}
    exec(compile(source, "own/tone.py", "exec"), own)  # noqa: S102 - our own page
    spoken = case(exchange("Thanks", "You are welcome, calm down!"))
    assert own["polite"](evidence(spoken, {})) == {"passed": False, "reason": "1 rude replies"}
    assert own["Tone"]().measure(evidence(spoken, {"words": ["welcome", "sorry"]}))["value"] == 1.0


def test_the_example_of_cases_is_accepted() -> None:
    (scenario,) = [block for _, block in fenced("yaml") if block.startswith("# scenarios/intents.yaml")]
    (rows,) = [block for page, block in fenced("json") if page.name == "cases.md" and '"intent"' in block]
    files = {"scenarios/intents.yaml": scenario.encode(), "scenarios/intents.jsonl": rows.encode()}
    suite = load_suite(files, metric_problems, validate_rule)
    assert [one.id for one in suite.scenarios] == ["intents__book", "intents__price"]
    assert [gate.metric for gate in suite.data_sets[0].gates] == ["macro_f1", "min_class_f1"]


def test_every_threshold_over_all_cases_has_a_row_in_the_page_of_cases() -> None:
    page = (PROJECT / "docs" / "cases.md").read_text(encoding="utf-8")
    described = set(re.findall(r"`([\w@.]+)`", page[page.index("### Thresholds over all cases") :]))
    assert [name for name in AGGREGATES if name not in described] == []


def test_every_page_that_is_pointed_at_exists() -> None:
    texts = [path.read_text(encoding="utf-8") for path in [*PAGES, *(PROJECT / "ratiba_action").rglob("*.py")]]
    named = {name for text in texts for name in re.findall(r"docs/[\w/-]+\.(?:md|png)", text)}
    assert [name for name in sorted(named) if not (PROJECT / name).exists()] == []


def anchors(page: Path) -> set[str]:
    """What GitHub names the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    dead = []
    for file, anchor in re.findall(r"\]\((?![a-z]+:)([^)#\s]*)#?([^)\s]*)\)", text):
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(f"{file}#{anchor}")
    assert dead == []


def headings_of_tables(text: str) -> Iterator[str]:
    """The row of headings of each table, which is followed by one of dashes; a block of code is no table."""
    text = re.sub(r"^( *)(```|~~~).*?^\1\2", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line.strip() for line in text.splitlines()]
    for line, below in pairwise(lines):
        if "|" in line and re.fullmatch(r"[|:\- ]*-[|:\- ]*", below) and "|" in below:
            yield line


@pytest.mark.parametrize("page", SITE, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_every_column_of_a_table_has_a_heading(page: Path) -> None:
    """Of the decisions too: all are pages of the site, of which axe-core sees the first and the last."""
    wrong = [
        row
        for row in headings_of_tables(page.read_text(encoding="utf-8"))
        if not all(re.sub(r"<.*?>", "", cell).strip() for cell in row.strip("|").split("|"))
    ]
    assert not wrong, "axe-core finds it too, in Chromium alone: empty-table-header"


def test_headings_of_tables_are_found_in_each_form_and_outside_code() -> None:
    text = "| | a |\n|---|---|\n| | b |\n\n- x\n\n  a | \n  :-: | ---\n\n```\n| | c |\n|---|---|\n```\n"
    assert list(headings_of_tables(text)) == ["| | a |", "a |"]


def test_every_module_that_is_pointed_at_exists() -> None:
    pattern = r"`((?:ratiba_action|tests)/[\w/]+(?:\.\w+|/))`"
    named = {name for page in PAGES for name in re.findall(pattern, page.read_text("utf-8"))}
    assert [name for name in sorted(named) if not (PROJECT / name).exists()] == []


def test_every_package_says_where_to_start_and_that_file_is_there() -> None:
    for package in sorted((PROJECT / "ratiba_action").rglob("__init__.py")):
        answers = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
        _, start, rest = answers.partition("tart with")
        files = re.findall(r"``([\w/]+\.py)``", rest)
        assert start, package
        assert [name for name in files if not (package.parent / name).exists()] == [], package


def test_no_more_than_thirty_entries_stand_at_the_top() -> None:
    package = PROJECT / "ratiba_action"
    names = {path.relative_to(package).parts[0] for path in package.rglob("*.py")} - {"__init__.py", "__main__.py"}
    assert len(names) <= 30


def test_the_index_lists_every_page() -> None:
    index = (PROJECT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", index))
    assert linked == {page.name for page in (PROJECT / "docs").glob("*.md")} - {"index.md"}


def test_what_a_stranger_reads_first_is_one_page() -> None:
    assert len(README[: README.index("## Inputs")].split()) <= 700
