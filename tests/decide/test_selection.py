from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.decide.protection import Protection
from ratiba_action.decide.rules import default_rules, parse_rules
from ratiba_action.decide.selection import decide_mode
from ratiba_action.errors import InfrastructureError
from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision, Rule

Files = Mapping[str, str | None]


def reader(base: Files, head: Files) -> Callable[[str, str], bytes | None]:
    sides = {"base": base, "head": head}

    def read(side: str, path: str) -> bytes | None:
        if path == "unreadable" or sides[side].get(path, "") == "unreadable":
            raise InfrastructureError("it is broken")
        content = sides[side].get(path)
        return None if content is None else content.encode()

    return read


def decide(
    *paths: str,
    rules: Sequence[Rule] | None = None,
    base: Files | None = None,
    head: Files | None = None,
    floor: Mode | None = None,
    doubt: str | None = None,
    protection: Protection | None = None,
) -> ModeDecision:
    return decide_mode(
        ChangedFiles(paths, doubt=doubt),
        default_rules() if rules is None else rules,
        reader=reader(base or {}, head or {}),
        protection=protection or Protection(),
        floor=floor,
    )


def test_the_strictest_file_wins() -> None:
    decision = decide("README.md", "app/main.py", "prompts/booking.md")

    assert decision.mode is Mode.BLOCKING
    assert [(one.path, one.mode) for one in decision.reasons] == [
        ("prompts/booking.md", Mode.BLOCKING),
        ("app/main.py", Mode.ADVISORY),
        ("README.md", Mode.SKIP),
    ]


def test_docs_alone_are_skipped() -> None:
    assert decide("README.md", "docs/a.png").mode is Mode.SKIP


def test_a_file_that_no_rule_matches_is_blocking() -> None:
    decision = decide("data.bin")

    assert decision.mode is Mode.BLOCKING
    assert decision.reasons[0].rule == "no rule"


def test_a_doubt_is_blocking_and_says_why() -> None:
    decision = decide("README.md", doubt="the list was cut")

    assert decision.mode is Mode.BLOCKING
    assert decision.reasons[0].why == "the list was cut"


def test_a_change_without_files_is_skipped() -> None:
    assert decide().mode is Mode.SKIP


@pytest.mark.parametrize(
    "path",
    [
        ".github/ratiba.yml",
        "scenarios/spa.yaml",
        "scenarios/recordings/spa.jsonl",
        "scenarios/calibration/human_labelled.yaml",
        "quality/tone.py",
    ],
)
def test_the_gates_own_files_are_blocking_whatever_the_rules_say(path: str) -> None:
    decision = decide(path, rules=parse_rules("skip *"), protection=Protection(paths=["quality/"]))

    assert decision.mode is Mode.BLOCKING
    assert decision.reasons[0].rule == "protected"


def test_the_paths_of_configuration_and_scenarios_are_protected_where_they_are() -> None:
    protection = Protection("./ci/gate.yml", "tests/eval/")
    rules = parse_rules("skip *")

    assert decide("ci/gate.yml", rules=rules, protection=protection).mode is Mode.BLOCKING
    assert decide("tests/eval/a/b.yaml", rules=rules, protection=protection).mode is Mode.BLOCKING
    assert decide("scenarios/a.yaml", rules=rules, protection=protection).mode is Mode.SKIP


def test_the_whole_repository_as_scenarios_protects_everything() -> None:
    assert decide("README.md", protection=Protection(scenarios=".")).mode is Mode.BLOCKING


CALLS = "jobs:\n  gate:\n    steps:\n      - uses: owner/ratiba-eval-gate@v1\n"
PLAIN = "jobs:\n  build:\n    steps:\n      - run: make\n"


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (CALLS, PLAIN),
        (PLAIN, CALLS),
        (CALLS, None),
        (PLAIN, "steps:\n  - uses: ./\n"),
        (PLAIN, "steps:\n  - uses: $/\n"),
        (PLAIN, "steps:\n  - uses: $/.\n"),
        (PLAIN, "steps:\n  - uses: './'  # this one\n"),
        (PLAIN, "steps:\n  - run: ratiba gate --json\n"),
        (PLAIN, "steps:\n  - run: |\n      .venv/bin/ratiba gate\n"),
        (PLAIN, "unreadable"),
    ],
)
def test_a_workflow_that_calls_the_gate_on_either_side_is_blocking(base: str | None, head: str | None) -> None:
    path = ".github/workflows/ci.yml"

    decision = decide(path, rules=parse_rules("skip *"), base={path: base}, head={path: head})

    assert decision.mode is Mode.BLOCKING
    assert decision.reasons[0].rule == "protected"


def test_a_workflow_that_calls_the_gate_through_another_file_is_blocking() -> None:
    path = ".github/workflows/ci.yml"
    files: Files = {
        path: "jobs:\n  a:\n    uses: ./.github/workflows/eval.yml\n",
        ".github/workflows/eval.yml": "steps:\n  - uses: $/.github/actions/gate\n",
        ".github/actions/gate/action.yml": CALLS,
    }

    assert decide(path, rules=parse_rules("skip *"), base=files, head={**files, path: PLAIN}).mode is Mode.BLOCKING


def test_workflows_that_call_each_other_come_to_an_end() -> None:
    path = ".github/workflows/a.yml"
    files: Files = {path: "uses: ./.github/workflows/a.yml\n# v1"}

    assert decide(path, base=files, head=files).mode is Mode.BLOCKING


def test_another_workflow_goes_by_the_rules() -> None:
    path = ".github/workflows/ci.yml"

    assert decide(path, base={path: PLAIN}, head={path: PLAIN + "  # more"}).mode is Mode.ADVISORY


def lock(version: str) -> str:
    return f'[[package]]\nname = "langgraph"\nversion = "{version}"\n'


def test_a_major_bump_is_blocking_and_names_both_versions() -> None:
    decision = decide("uv.lock", base={"uv.lock": lock("1.2.0")}, head={"uv.lock": lock("2.0.0")})

    assert decision.mode is Mode.BLOCKING
    assert "langgraph: major change, 1.2.0 to 2.0.0" in [one.why for one in decision.reasons]
    assert (decision.dependencies[0].before, decision.dependencies[0].after) == ("1.2.0", "2.0.0")


def test_a_minor_bump_is_advisory_even_where_no_rule_knows_lock_files() -> None:
    base, head = {"uv.lock": lock("1.2.0")}, {"uv.lock": lock("1.3.0")}

    assert decide("uv.lock", base=base, head=head).mode is Mode.ADVISORY
    assert decide("uv.lock", rules=parse_rules("skip docs/"), base=base, head=head).mode is Mode.ADVISORY
    assert decide("uv.lock", rules=parse_rules("skip *"), base=base, head=head).mode is Mode.ADVISORY


def test_a_bump_that_renovate_also_asks_for_in_the_unlocked_requirements_is_no_doubt() -> None:
    base = {"requirements.in": "openai==2.53.0\n", "requirements.txt": "openai==2.53.0\n"}
    minor = {"requirements.in": "openai==2.54.0\n", "requirements.txt": "openai==2.54.0\n"}
    major = {"requirements.in": "openai==3.0.0\n", "requirements.txt": "openai==3.0.0\n"}

    assert decide(*base, base=base, head=minor).mode is Mode.ADVISORY
    assert decide(*base, base=base, head=major).mode is Mode.BLOCKING


def test_a_rule_can_make_every_bump_blocking() -> None:
    base, head = {"uv.lock": lock("1.2.0")}, {"uv.lock": lock("1.3.0")}

    assert decide("uv.lock", rules=parse_rules("blocking *.lock"), base=base, head=head).mode is Mode.BLOCKING


def test_a_change_of_a_manifest_that_is_no_bump_goes_by_the_rules() -> None:
    base, head = {"pyproject.toml": "[tool.a]\nb = 1\n"}, {"pyproject.toml": "[tool.a]\nb = 2\n"}

    assert decide("pyproject.toml", base=base, head=head).mode is Mode.ADVISORY
    assert decide("pyproject.toml", rules=parse_rules("skip docs/"), base=base, head=head).mode is Mode.BLOCKING
    assert decide("pyproject.toml", rules=parse_rules("skip *.toml"), base=base, head=head).mode is Mode.SKIP


@pytest.mark.parametrize("head", ["[[package", "unreadable", None])
def test_a_lock_file_that_cannot_be_judged_is_blocking(head: str | None) -> None:
    decision = decide("uv.lock", base={"uv.lock": lock("1.2.0")}, head={"uv.lock": head})

    assert decision.mode is Mode.BLOCKING
    assert decision.dependencies[0].change == "unreadable"


def test_packages_that_do_not_count_by_the_bases_configuration_are_advisory() -> None:
    base: Files = {"uv.lock": lock("1.2.0"), ".github/ratiba.yml": "dependencies: [anthropic]\n"}

    decision = decide("uv.lock", base=base, head={"uv.lock": lock("2.0.0")})

    assert decision.mode is Mode.ADVISORY
    assert decision.dependencies[0].change == "major"


def test_the_configuration_of_the_head_cannot_narrow() -> None:
    head: Files = {"uv.lock": lock("2.0.0"), ".github/ratiba.yml": "dependencies: [anthropic]\n"}

    assert decide("uv.lock", base={"uv.lock": lock("1.2.0")}, head=head).mode is Mode.BLOCKING


def test_a_block_that_is_not_understood_narrows_nothing_and_is_said() -> None:
    base: Files = {"uv.lock": lock("1.2.0"), ".github/ratiba.yml": "dependencies: {only: a}\n"}

    decision = decide("uv.lock", base=base, head={"uv.lock": lock("2.0.0")})

    assert decision.mode is Mode.BLOCKING
    assert any("cannot narrow" in one.why for one in decision.reasons)


def test_the_mode_input_is_a_floor() -> None:
    assert decide("README.md", floor=Mode.ADVISORY).mode is Mode.ADVISORY
    assert decide("README.md", floor=Mode.BLOCKING).mode is Mode.BLOCKING
    assert decide("prompts/a.md", floor=Mode.ADVISORY).mode is Mode.BLOCKING


PATHS = st.sampled_from(
    [
        "README.md",
        "docs/a",
        "app/a.py",
        "prompts/a.md",
        "x.bin",
        "scenarios/a.yaml",
        "uv.lock",
        ".github/workflows/a.yml",
    ]
)


@given(st.lists(PATHS, max_size=5), PATHS)
def test_another_changed_file_never_relaxes(paths: list[str], more: str) -> None:
    assert decide(*paths, more).mode.rank >= decide(*paths).mode.rank


@given(st.lists(PATHS, max_size=5), st.text(min_size=1, max_size=9))
def test_any_doubt_is_blocking(paths: list[str], doubt: str) -> None:
    assert decide(*paths, doubt=doubt).mode is Mode.BLOCKING


@given(st.lists(PATHS, min_size=1, max_size=5))
def test_the_mode_is_that_of_the_strictest_file_alone(paths: list[str]) -> None:
    assert decide(*paths).mode == max((decide(path).mode for path in paths), key=lambda mode: mode.rank)


@pytest.mark.parametrize(
    ("why", "message"), [("", "the mode input asks for at least blocking"), ("--failed chooses", "--failed chooses")]
)
def test_what_asked_for_a_floor_is_its_reason(why: str, message: str) -> None:
    nothing = Protection(config=".github/ratiba.yml", scenarios="scenarios")
    decision = decide_mode(
        ChangedFiles(("README.md",)),
        default_rules(),
        reader=reader({}, {}),
        protection=nothing,
        floor=Mode.BLOCKING,
        floor_why=why,
    )
    assert decision.reasons[0].why == message
