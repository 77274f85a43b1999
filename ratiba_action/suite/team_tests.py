"""Tests of pytest that a repository has already, as scenarios: found by reading their files, which runs nothing."""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ratiba_action.errors import FileProblem
from ratiba_action.model.scenario import DEFAULT_NOW, Customer, Scenario, Suite, TeamTest, Turn
from ratiba_action.suite.load import files_digest
from ratiba_action.util.folder_tree import paths_below
from ratiba_action.util.locked_folder import is_file, is_folder, read_plain_file

MAX_TESTS = 2_000
_NAME = re.compile(r"(?:test_.*|.*_test)\.py", re.DOTALL)
"""Files of a folder that pytest collects by default; a file that is named itself may have any name."""
_LONGEST_ID = 90


@dataclass(frozen=True, slots=True)
class FoundTests:
    """The tests of one side of a change, and what is wrong with their files."""

    scenarios: tuple[Scenario, ...] = ()
    problems: tuple[FileProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class TestFiles:
    """Reads files of one side.

    Args:
        below: paths of all files in a folder; none where there is no such folder.
        read: content of a file; None where there is none.
    """

    __test__ = False

    below: Callable[[str], Iterable[str]]
    read: Callable[[str], bytes | None]


def files_of_checkout(repository: Path) -> TestFiles:
    """Reads the work tree."""

    def below(folder: str) -> Iterator[str]:
        found = paths_below(repository / folder) if is_folder(repository / folder) else ()
        for path in sorted(path for path in found if path.suffix == ".py"):
            yield path.relative_to(repository).as_posix()

    def read(name: str) -> bytes | None:
        path = repository / name
        return read_plain_file(repository, name) if is_file(path) or path.is_symlink() else None

    return TestFiles(below, read)


def find_tests(paths: Sequence[str], root: str, files: TestFiles, config: str) -> FoundTests:
    """The tests in files and folders.

    Args:
        paths: as the configuration names them.
        root: folder of the system, which must hold them.
        config: path of the configuration, for messages.
    """
    problems: list[FileProblem] = []
    contents: dict[str, bytes] = {}
    for path in paths:
        if root != "." and not PurePosixPath(path).is_relative_to(root):
            problems.append(FileProblem(config, 0, f"tests: {path!r} is not in system.root, {root!r}"))
            continue
        try:
            found = _contents(path, files)
        except OSError as error:
            problems.append(FileProblem(str(error.filename or path), 0, f"cannot be read: {error.strerror}"))
            continue
        contents |= found
        if not found:
            problems.append(FileProblem(config, 0, f"tests: {path!r} is no file, and no folder with test_*.py in it"))
    scenarios: list[Scenario] = []
    for name, content in sorted(contents.items()):
        try:
            code = _digest(name, content, files)
            scenarios += _scenarios(name, content, root, code)
        except OSError as error:
            problems.append(FileProblem(name, 0, f"a conftest.py of it cannot be read: {error.strerror}"))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or 0
            problems.append(FileProblem(name, line, f"cannot be read as Python: {getattr(error, 'msg', error)}"))
    if len(scenarios) > MAX_TESTS:
        problems.append(FileProblem(config, 0, f"tests: {len(scenarios):,} tests, more than {MAX_TESTS:,}"))
    if contents and not scenarios and not problems:
        problems.append(FileProblem(config, 0, f"tests: no test function was found in {', '.join(sorted(contents))}"))
    return FoundTests(_with_own_ids(scenarios[:MAX_TESTS]), tuple(problems))


def has_tests(path: str, root: str, files: TestFiles) -> bool:
    """Whether there are files of tests at a path in the system's folder."""
    inside = root == "." or PurePosixPath(path).is_relative_to(root)
    return inside and bool(_contents(path, files))


def with_tests(suite: Suite, found: FoundTests) -> tuple[Suite, tuple[FileProblem, ...]]:
    """The suite with the tests, and each id that a scenario has already."""
    if not found.scenarios:
        return suite, ()
    ids = {scenario.id: scenario for scenario in suite.scenarios}
    twice = tuple(
        FileProblem(test.path, test.line, f"the test's id {test.id!r} is already used in {ids[test.id].path}")
        for test in found.scenarios
        if test.id in ids
    )
    scenarios = sorted((*suite.scenarios, *found.scenarios), key=lambda scenario: scenario.id)
    codes = {test.test.node: test.test.code.encode() for test in found.scenarios if test.test is not None}
    digest = files_digest({"": suite.digest.encode(), **codes})
    return replace(suite, scenarios=tuple(scenarios), digest=digest), twice


def _contents(path: str, files: TestFiles) -> dict[str, bytes]:
    content = files.read(path) if path.endswith(".py") else None
    if content is not None:
        return {path: content}
    names = [name for name in files.below(path) if _NAME.fullmatch(PurePosixPath(name).name)]
    return {name: content for name in names if (content := files.read(name)) is not None}


def _digest(name: str, content: bytes, files: TestFiles) -> str:
    """SHA-256 of a test's file and of each ``conftest.py`` in its folder and those above."""
    above = [(folder / "conftest.py").as_posix() for folder in PurePosixPath(name).parents]
    conftests = {path: found for path in above if (found := files.read(path)) is not None}
    total = hashlib.sha256()
    for path, part in sorted({**conftests, name: content}.items()):
        total.update(hashlib.sha256(path.encode("utf-8", "surrogateescape")).digest())
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


def _scenarios(name: str, content: bytes, root: str, code: str) -> Iterator[Scenario]:
    functions = dict(_functions(ast.parse(content).body))
    known = tuple(functions)
    file = PurePosixPath(name).relative_to(root).as_posix() if root != "." else name
    for function, (line, marks) in functions.items():
        node = f"{file}::{function}"
        yield Scenario(
            _id(node),
            "en",
            (Turn(node, line=line),),
            DEFAULT_NOW,
            Customer("", ""),
            tags=frozenset({"pytest", *marks}),
            path=name,
            line=line,
            fluency=False,
            test=TeamTest(node, known, code),
        )


_Found = tuple[str, tuple[int, frozenset[str]]]


def _functions(body: Sequence[ast.stmt], owner: str = "", marks: frozenset[str] = frozenset()) -> Iterator[_Found]:
    """Names of test functions and of methods of test classes, each with its line and its marks."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield owner + node.name, (node.lineno, marks | _marks(node))
        elif isinstance(node, ast.ClassDef) and (node.name.startswith("Test") or _is_test_case(node)):
            yield from _functions(node.body, f"{owner}{node.name}::", marks | _marks(node))
        elif isinstance(node, ast.If | ast.With | ast.Try):
            bodies = [node.body, getattr(node, "orelse", []), *(one.body for one in getattr(node, "handlers", []))]
            yield from _functions([statement for body in bodies for statement in body], owner, marks)


def _is_test_case(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def _marks(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> frozenset[str]:
    written = (ast.unparse(entry.func if isinstance(entry, ast.Call) else entry) for entry in node.decorator_list)
    return frozenset(text.removeprefix("pytest.mark.") for text in written if text.startswith("pytest.mark."))


def _id(node: str) -> str:
    text = re.sub(r"[^a-z0-9_-]", "_", node.replace(".py::", "__").replace("::", "__").lower()).lstrip("_-") or "test"
    return text if len(text) <= _LONGEST_ID else f"{text[:_LONGEST_ID]}_{_short(node)}"


def _short(node: str) -> str:
    return hashlib.sha256(node.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _with_own_ids(scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """Tests whose names differ only in what an id cannot hold get a digest of their name."""
    count: Mapping[str, int] = Counter(scenario.id for scenario in scenarios)
    return tuple(
        replace(scenario, id=f"{scenario.id}_{_short(scenario.test.node)}")
        if count[scenario.id] > 1 and scenario.test is not None
        else scenario
        for scenario in scenarios
    )
