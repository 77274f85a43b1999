"""The ``rules`` input: which mode a changed file asks for."""

import re
from collections.abc import Sequence
from itertools import groupby

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.change import Mode, Rule
from ratiba_action.util.gitignore import PatternList, PatternLists, encode, parse

DEFAULT_RULES = r"""
# Prompts and FSM blocking, other code advisory, docs skip. Names count in any letter case.
# A file that no line matches is blocking: data of unknown kind, and lock files that cannot be parsed here.
# What a skip line matches must be documentation by its kind too (selection.py): code in docs/ is code.
advisory docs/ doc/ *.css *.scss *.html
skip docs/ doc/ *.md *.rst *.adoc license* licence* notice* copying* authors* codeowners citation.cff
skip *.png *.jpg *.jpeg *.gif
advisory *.py *.pyi *.pyw *.pyx *.ipynb *.js *.jsx *.mjs *.cjs *.ts *.tsx *.mts *.cts *.vue *.svelte
advisory *.go *.rs *.java *.kt *.kts *.scala *.rb *.php *.cs *.swift *.c *.h *.cc *.cpp *.hpp *.ex *.exs *.lua *.dart
advisory *.sh *.bash *.ps1 *.sql *.proto *.graphql *.tf makefile *.mk dockerfile* *.dockerfile containerfile* procfile
advisory cmakelists.txt pyproject.toml uv.lock poetry.lock pdm.lock pylock*.toml pipfile.lock
advisory requirements*.txt requirements*.in requirements/*.txt requirements/*.in constraints*.txt
advisory package.json package-lock.json npm-shrinkwrap.json pnpm-lock.yaml yarn.lock bun.lock tsconfig*.json
advisory .python-version .node-version .nvmrc .tool-versions
advisory .github/ .gitignore .gitattributes .dockerignore .editorconfig
advisory .pre-commit-config.yaml renovate.json .renovaterc* tests/ test/ alembic.ini
blocking *prompt* prompts/ prompt/ *.prompt *.jinja *.jinja2 *.j2
blocking fsm/ fsms/ *fsm*.* *state_machine*/ *state_machine*.* *statemachine*.*
"""

_TOKEN = re.compile(r"(?:\\.|[^\s\\])+\\?|\\")


def parse_rules(text: str, *, built_in: bool = False) -> tuple[Rule, ...]:
    r"""Read rules: ``mode pattern…`` per line, ``#`` comments, ``\ `` for a space in a pattern.

    Within a line ``!pattern`` takes out what the patterns before it matched, as in one gitignore file.

    Args:
        built_in: they are the default rules.

    Raises:
        ConfigurationError: lines that are wrong, all of them at once.
    """
    rules: list[Rule] = []
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        tokens = _tokens(line)
        if not tokens:
            continue
        problem = _problem(tokens)
        if problem:
            problems.append(f"line {number}: {problem}")
        else:
            rules += [Rule(Mode(tokens[0]), pattern, number, built_in) for pattern in tokens[1:]]
    if not rules and not problems:
        problems.append("there is no rule in the text")
    if problems:
        raise ConfigurationError(
            "The rules cannot be read: " + "; ".join(problems) + ".",
            "Write one 'mode pattern…' per line with the mode blocking, advisory or skip.",
        )
    return tuple(rules)


def default_rules() -> tuple[Rule, ...]:
    """The rules that hold when none are given."""
    return parse_rules(DEFAULT_RULES, built_in=True)


def _tokens(line: str) -> list[str]:
    tokens: list[str] = []
    for token in _TOKEN.findall(line):
        if token.startswith("#"):
            break
        tokens.append(token)
    return tokens


def _problem(tokens: Sequence[str]) -> str:
    mode, *patterns = tokens
    if mode not in list(Mode):
        return f"the mode is {mode!r}, not one of blocking, advisory, skip"
    if not patterns:
        return f"{mode!r} has no pattern"
    if patterns[0].startswith("!"):
        return f"{patterns[0]!r} stands first, so there is nothing that it could take out"
    for pattern in patterns:
        try:
            parse(pattern)
        except ValueError as error:
            return f"{pattern!r}: {error}"
    return _dead_negation(patterns)


def _dead_negation(patterns: Sequence[str]) -> str:
    """A negation below a folder that the line already took whole; gitignore lets it silently do nothing."""
    for index, pattern in enumerate(patterns):
        if not pattern.startswith("!") or re.search(r"[*?\[\\]", pattern):
            continue
        folder, _, _ = pattern[1:].strip("/").rpartition("/")
        taken = PatternList(patterns[:index]).match(f"{folder}/.") if folder else None
        if taken is not None and PatternList([taken]).match(folder) is not None:
            return f"{pattern!r} has no effect, as {taken!r} takes the whole folder; match its files instead"
        if taken is not None and taken.endswith("/"):
            return f"{pattern!r} has no effect, as {taken!r} takes the whole folder; write {taken + '*'!r}"
    return ""


class RuleBook:
    """Rules made ready to be asked about many files.

    Args:
        rules: the default rules, or others.

    Raises:
        ValueError: some of the rules are default rules.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        lines = [list(group) for _, group in groupby(rules, key=lambda rule: (rule.line, rule.mode))]
        if len({rule.built_in for rule in rules}) > 1:
            raise ValueError("default rules and others are mixed")
        self._built_in = bool(rules) and rules[0].built_in
        self._lines = [{rule.pattern: rule for rule in reversed(line)} for line in reversed(lines)]
        self._all = PatternLists([PatternList([rule.pattern for rule in line]) for line in reversed(lines)])

    def rule_for(self, path: str, *, document: bool = True) -> Rule | None:
        """The rule that decides about a file: that of the last line which matches it.

        Args:
            document: it is one by its kind; else the default rules for documentation do not count.
        """
        name = encode(path.casefold() if self._built_in else path)
        found = self._all.first(name, self._counts if self._built_in and not document else None)
        if found is None:
            return None
        line, text = found
        return self._lines[line][text]

    def _counts(self, line: int) -> bool:
        return next(iter(self._lines[line].values())).mode is not Mode.SKIP
