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


NAMES: Mapping[str, str] = {
    "min_, max_, minimum, maximum": r"_*(least|most|fewest)(_\w+)?",
    "reported, output, stderr, message, … (what it is), instead of told": r"(\w+_)?_*told(_\w+)?",
    "reply, text, message, … (what it is), instead of said": r"_*said",
}
"""How no variable, parameter, field, function, class or test is named, and what its name would rather be."""
ALLOWED_NAMES: Mapping[str, str] = {
    "most_informative": "of the subsets, the one whose outcome says most: no maximum of a setting",
}
SOURCES = [
    path
    for folder in ("ratiba_action", "tests", "fuzz", "benchmarks", "examples")
    for path in sorted((PROJECT / folder).rglob("*.py"))
]


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        for field in ("id", "arg", "attr", "name", "asname"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield getattr(node, "lineno", 0), name


@functools.cache
def old_names() -> Mapping[str, tuple[str, ...]]:
    """Where each pattern of ``NAMES`` is found."""
    maybe = re.compile("least|most|fewest|told|said", re.IGNORECASE)
    patterns = {pattern: re.compile(pattern, re.IGNORECASE) for pattern in NAMES.values()}
    found: dict[str, list[str]] = {pattern: [] for pattern in patterns}
    for path in SOURCES:
        text = path.read_text("utf-8")
        for line, name in identifiers(ast.parse(text)) if maybe.search(text) else ():
            for pattern, compiled in patterns.items():
                if maybe.search(name) and compiled.fullmatch(name):
                    found[pattern].append(f"{path.relative_to(PROJECT)}:{line}: {name}")
    return {pattern: tuple(sorted(set(places))) for pattern, places in found.items()}


@pytest.mark.parametrize("better", NAMES)
def test_names_in_code_are_the_words_of_the_field(better: str) -> None:
    wrong = [place for place in old_names()[NAMES[better]] if place.split(": ")[1] not in ALLOWED_NAMES]
    assert not wrong, f"name it {better}:\n" + "\n".join(wrong)


def test_every_allowed_name_is_needed() -> None:
    used = {place.split(": ")[1] for places in old_names().values() for place in places}
    assert used == set(ALLOWED_NAMES)


def test_a_name_in_the_old_words_is_found() -> None:
    source = "def test_it_is_told(said, *, least_mean): most = told.output; self._told_by = MOST_FILES"
    names = {name for _, name in identifiers(ast.parse(source))}
    old = {name for name in names if any(re.fullmatch(each, name, re.IGNORECASE) for each in NAMES.values())}
    assert old == names - {"output", "self"}


def documentation(path: Path) -> Iterator[str]:
    """The docstrings and comments of a module, without the names of arguments, which are looked at above."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    documented = set(docstrings(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) in documented and isinstance(node.value, str):
            yield re.sub(r"(?m)^ +\w+:", "", node.value)
    yield from re.findall(r"(?m)(?:^|\s)#\s(.*)$", text)


def test_docstrings_and_comments_of_each_package_lose_the_old_words_and_gain_none() -> None:
    """``vocabulary_left.yaml`` counts what is left in each package: make a number smaller, never larger."""
    left: dict[str, int] = yaml.safe_load((PROJECT / "tests/vocabulary_left.yaml").read_text("utf-8"))
    patterns = [re.compile(word["not"], re.IGNORECASE) for word in VOCABULARY]
    everywhere = [text for word in VOCABULARY for text in allowed(word, "")]
    phrases = re.compile("|".join(map(re.escape, everywhere)), re.IGNORECASE)
    found = dict.fromkeys(left, 0)
    for module in MODULES:
        package = module.relative_to(PROJECT / "ratiba_action").parts[0].removesuffix(".py")
        rest = [phrases.sub("", text) for text in documentation(module)]
        old = sum(len(pattern.findall(text)) for text in rest for pattern in patterns)
        found[package] = found.get(package, 0) + old
    more = {
        package: f"{count}, was {left.get(package, 0)}"
        for package, count in found.items()
        if count > left.get(package, 0)
    }
    assert not more
    assert {package for package, count in left.items() if not found[package]} == set(), "take its line out"
