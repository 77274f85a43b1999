"""The files that mutants are made of, and a file's text with a mutant in it."""

import ast
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from ratiba_action.diagnosis.code_mutants import code_mutants, migration_lines
from ratiba_action.diagnosis.mutants import Mutant
from ratiba_action.diagnosis.prompt_mutants import prompt_mutants
from ratiba_action.errors import FileProblem, SuiteError, UsageError
from ratiba_action.run.composition import checkout_of
from ratiba_action.run.inputs import RunInputs
from ratiba_action.systems.scratch import copied_files
from ratiba_action.util.locked_folder import read_plain_file

_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class MutatedFiles:
    """The files that mutants are made of.

    Args:
        texts: by path below the system's root.
        notes: files that were left out, and why.
        named: a person named them, so that each counts even if no scenario runs it.
    """

    texts: Mapping[str, str]
    mutants: tuple[Mutant, ...]
    notes: tuple[str, ...] = ()
    named: bool = False


def read_files(inputs: RunInputs, names: Sequence[str]) -> MutatedFiles:
    """The files to make mutants of: those that are named, else the system's prompts and all of its Python files.

    Args:
        names: files and folders of the repository, relative to its root.

    Raises:
        SuiteError: one lies outside the system's folder, cannot be read, is no text, or no Python.
        UsageError: there is none.
    """
    system = inputs.configuration.system
    root = inputs.repository / system.root
    there = copied_files(root, checkout_of(inputs, inputs.decided.change.files.head))
    problems = list[FileProblem]()
    chosen = list[str]()
    for name in names:
        found = _below(name, system.root, there)
        chosen += found
        if not found:
            problems.append(FileProblem(name, 0, _why_none(inputs.repository, name, system.root)))
    if not names:
        chosen = [name for name in there if name.endswith(".py") or _is_prompt(name, system.prompt_patterns)]
    texts, mutants, notes = dict[str, str](), list[Mutant](), list[str]()
    for name in dict.fromkeys(chosen):
        try:
            texts[name] = _text(root, name)
            migrating = _migrating(inputs, name, texts[name])
            mutants += (mutant for mutant in mutants_of(name, texts[name]) if mutant.line not in migrating)
        except (OSError, ValueError, RecursionError, MemoryError, SyntaxError) as error:
            texts.pop(name, None)
            problems.append(_problem(f"{PurePosixPath(system.root) / name}", error))
    if problems and names:
        raise SuiteError(problems)
    notes += [f"{problem}; left out" for problem in problems]
    if not texts:
        raise UsageError("There is no prompt and no Python file to make mutants of.", "Name one: ratiba mutate FILE")
    return MutatedFiles(texts, tuple(mutants), tuple(notes), bool(names))


def _migrating(inputs: RunInputs, name: str, text: str) -> frozenset[int]:
    module, _, adapter = (inputs.configuration.system.adapter or "").partition(":")
    return migration_lines(text, adapter) if name == f"{module.replace('.', '/')}.py" else frozenset()


def _below(name: str, root: str, there: Sequence[str]) -> list[str]:
    """The files that a name stands for, from the system's root; of a folder around the root all of them."""
    path, top = PurePosixPath(os.path.normpath(name)), PurePosixPath(os.path.normpath(root))
    if top.is_relative_to(path):
        return [*there]
    inside = path.relative_to(top) if _is_inside(path, top) else None
    return [file for file in there if inside is not None and PurePosixPath(file).is_relative_to(inside)]


def _is_inside(path: PurePosixPath, root: PurePosixPath) -> bool:
    return path.is_relative_to(root) and ".." not in path.parts[:1]


def _why_none(repository: Path, name: str, root: str) -> str:
    path = repository / name
    if path.is_symlink():
        return "is a symbolic link; name the file itself"
    if not _is_inside(PurePosixPath(os.path.normpath(name)), PurePosixPath(os.path.normpath(root))):
        return f"is outside the system's folder {root!r}; only files below it can be changed"
    if not path.exists():
        return "there is no such file; give a path from the root of the repository, or none for the system's own files"
    return "the system does not run with this file; only files that its worker loads can be changed"


def _is_prompt(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _text(root: Path, name: str) -> str:
    text = read_plain_file(root, name, _MAX_BYTES).decode("utf-8")
    if "\0" in text:
        raise ValueError("it is not a text")
    return text


def _problem(name: str, error: Exception) -> FileProblem:
    if isinstance(error, SyntaxError):
        return FileProblem(name, error.lineno or 0, f"is not Python that can be read: {error.msg}")
    if isinstance(error, OSError):
        return FileProblem(name, 0, f"cannot be read: {error.strerror}")
    return FileProblem(name, 0, "is not a text in UTF-8" if isinstance(error, ValueError) else "is nested too deeply")


def mutants_of(path: str, text: str) -> tuple[Mutant, ...]:
    """Every mutant of a file: of Python code each guard, call and constant, of a prompt each part of the text.

    Of code these are left out: docstrings and annotations, ``None`` and ``...``, and what only type checkers or a
    direct call of the file run (``TYPE_CHECKING``, ``__name__``).

    Args:
        path: from the system's root.

    Raises:
        SyntaxError: it is no Python, though its name ends in ``.py``; with the line.
    """
    found = code_mutants(path, text) if path.endswith(".py") else prompt_mutants(path, text)
    return tuple(sorted(found, key=lambda mutant: (mutant.line, mutant.node, mutant.begin, mutant.operator)))


def mutated(mutant: Mutant, text: str) -> str:
    """A file's text with a mutant in it.

    Args:
        text: as it is without.
    """
    if mutant.node < 0:
        return text[: mutant.begin] + mutant.after + text[mutant.end :]
    tree = ast.parse(text)
    target = list(ast.walk(tree))[mutant.node]
    changed = _Replacement(target, mutant.after).visit(tree)
    return ast.unparse(ast.fix_missing_locations(changed)) + "\n"


class _Replacement(ast.NodeTransformer):
    """Puts an expression for one node; removes a statement or a decorator where there is none."""

    def __init__(self, target: ast.AST, after: str) -> None:
        self._target, self._after = target, after

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._target:
            if isinstance(node, ast.AugAssign):
                return ast.parse(self._after).body[0]
            return ast.parse(self._after, mode="eval").body if self._after else ast.Pass()
        decorators = getattr(node, "decorator_list", [])
        if not self._after and self._target in decorators:
            decorators.remove(self._target)
        found: ast.AST = self.generic_visit(node)
        return found
