"""What users read says one thing by one term, that of the field: ``vocabulary.yaml`` lists what not to write."""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parent.parent
VOCABULARY: list[dict[str, Any]] = yaml.safe_load((PROJECT / "tests/vocabulary.yaml").read_text("utf-8"))
PAGES = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", PROJECT / "action.yml", *sorted(PROJECT.glob("docs/*.md"))]
TEMPLATES = sorted(PROJECT.glob("ratiba_action/**/*.j2"))
MODULES = sorted(PROJECT.glob("ratiba_action/**/*.py"))
MARKUP = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
"""What a template computes is code, not text."""


def docstrings(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        for statement in getattr(node, "body", ()) if isinstance(getattr(node, "body", None), list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                yield id(statement.value)


def literals(module: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module but docstrings, and but a single word: that is a key, not a sentence."""
    tree = ast.parse(module.read_text("utf-8"))
    documentation = set(docstrings(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in documentation:
            continue
        if isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


@functools.cache
def sentences() -> tuple[tuple[str, int, str], ...]:
    """What users read, found once, and not while tests are collected: file, line and text."""
    return tuple(found_sentences())


def found_sentences() -> Iterator[tuple[str, int, str]]:
    for page in PAGES:
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
            yield str(page.relative_to(PROJECT)), number, line
    for template in TEMPLATES:
        text = MARKUP.sub(lambda found: "\n" * found[0].count("\n"), template.read_text("utf-8"))
        for number, line in enumerate(text.splitlines(), 1):
            yield str(template.relative_to(PROJECT)), number, line
    for module in MODULES:
        for number, text in literals(module):
            yield str(module.relative_to(PROJECT)), number, text


def allowed(word: Mapping[str, Any], file: str) -> list[str]:
    return [entry["text"] for entry in word.get("allowed", ()) if entry.get("in", file) == file]


@pytest.mark.parametrize("word", VOCABULARY, ids=lambda word: word["write"])
def test_what_users_read_uses_the_word_of_the_field(word: Mapping[str, Any]) -> None:
    pattern = re.compile(word["not"], re.IGNORECASE)
    found = []
    for file, number, text in sentences():
        rest = text
        for phrase in allowed(word, file):
            rest = re.sub(re.escape(phrase), "", rest, flags=re.IGNORECASE)
        found += [f"{file}:{number}: {match[0]!r} in {text[:90]!r}" for match in pattern.finditer(rest)]
    assert not found, f"write {word['write']}:\n" + "\n".join(found)


def test_every_exception_has_a_reason_and_is_needed() -> None:
    for word in VOCABULARY:
        for entry in word.get("allowed", ()):
            assert entry["reason"]
            files = [text for file, _, text in sentences() if entry.get("in", file) == file]
            assert any(entry["text"].lower() in text.lower() for text in files), f"nothing says {entry['text']!r}"


def test_a_word_of_the_list_is_found_in_a_message() -> None:
    """That the test above can fail."""
    words = [re.compile(word["not"], re.IGNORECASE) for word in VOCABULARY]
    assert any(word.search("2 of 3 exact checks broke off") for word in words)
