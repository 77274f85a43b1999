from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.decide.rules import RuleBook, default_rules, parse_rules
from ratiba_action.errors import ConfigurationError
from ratiba_action.model.change import Mode, Rule


def mode_of(path: str, text: str) -> Mode | None:
    rule = RuleBook(parse_rules(text)).rule_for(path)
    return None if rule is None else rule.mode


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("prompts/booking.md", Mode.BLOCKING),
        ("backend/app/prompts/booking.md", Mode.BLOCKING),
        ("app/system_prompt.txt", Mode.BLOCKING),
        ("app/orchestrator/fsm/transitions.py", Mode.BLOCKING),
        ("app/fsm.py", Mode.BLOCKING),
        ("app/state_machine.py", Mode.BLOCKING),
        ("app/main.py", Mode.ADVISORY),
        ("web/src/App.tsx", Mode.ADVISORY),
        ("Dockerfile", Mode.ADVISORY),
        ("README.md", Mode.SKIP),
        ("docs/guide.html", Mode.SKIP),
        ("LICENSE", Mode.SKIP),
    ],
)
def test_the_default_rules_are_the_matrix_of_the_seeds(path: str, mode: Mode) -> None:
    rule = RuleBook(default_rules()).rule_for(path)

    assert rule is not None
    assert rule.mode is mode


def test_the_default_rules_do_not_match_a_file_of_unknown_kind() -> None:
    assert RuleBook(default_rules()).rule_for("model/weights.bin") is None


@pytest.mark.parametrize("path", ["composer.lock", "Cargo.lock", "go.sum", "Gemfile.lock"])
def test_the_default_rules_do_not_match_a_lock_file_that_cannot_be_parsed(path: str) -> None:
    assert RuleBook(default_rules()).rule_for(path) is None


def test_the_last_line_that_matches_a_file_wins() -> None:
    text = "blocking *\nadvisory src/\nskip *.md"

    assert mode_of("src/a.py", text) is Mode.ADVISORY
    assert mode_of("src/a.md", text) is Mode.SKIP
    assert mode_of("other", text) is Mode.BLOCKING


def test_a_negation_takes_files_out_of_its_own_line_only() -> None:
    text = "advisory *\nskip docs/* !docs/spec.md"

    assert mode_of("docs/a.md", text) is Mode.SKIP
    assert mode_of("docs/spec.md", text) is Mode.ADVISORY


def test_comments_blank_lines_and_escaped_spaces_are_read() -> None:
    rules = parse_rules("# all\n\n  skip a\\ b.md docs/  # the docs\nblocking \\#notes\n")

    assert rules == (
        Rule(Mode.SKIP, "a\\ b.md", 3),
        Rule(Mode.SKIP, "docs/", 3),
        Rule(Mode.BLOCKING, "\\#notes", 4),
    )
    assert RuleBook(rules).rule_for("a b.md") == rules[0]


def test_every_wrong_line_is_reported_at_once() -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_rules("block *\nskip\nadvisory a[b\nskip !x\nblocking prompts/ !prompts/README.md\nadvisory *")

    message = str(raised.value)
    for part in (
        "line 1: the mode is 'block'",
        "line 2: 'skip' has no",
        "line 3: 'a[b'",
        "line 4: '!x'",
        "line 5: '!prompts",
    ):
        assert part in message
    assert "line 6" not in message


def test_a_text_without_any_rule_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no rule"):
        parse_rules("# nothing\n")


@given(st.text(max_size=80))
def test_any_text_gives_rules_or_one_error(text: str) -> None:
    with suppress(ConfigurationError):
        assert parse_rules(text)
