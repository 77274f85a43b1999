"""A repository's own rule, metric or test, or a metric of DeepEval's, in a process of its own."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import isolation
from .adapters import deepeval_metrics
from .lookup import AdapterError, find

if TYPE_CHECKING:
    from collections.abc import Callable

    from .judge import WorkerJudge


def measure(address: str, evidence: dict[str, Any], judge: WorkerJudge) -> Any:
    """What the code at ``module:attribute`` says of the evidence.

    A class is made without arguments; what has a method ``measure`` is called by it. A metric of DeepEval is made with
    the assertion's parameters and given test cases. A parameter ``judge`` is given the judge.

    Raises:
        AdapterError: there is nothing to call.
    """
    found = _find(address, judge)
    if deepeval_metrics.is_metric(found):
        return deepeval_metrics.measure(found, evidence)
    subject = found() if isinstance(found, type) else found
    method = subject if inspect.isroutine(subject) else getattr(subject, "measure", None)
    if not callable(method):
        raise AdapterError(f"the metric or rule {address!r} ({type(subject).__name__}) has no method measure()")
    result = method(evidence, judge=judge) if _takes_judge(method) else method(evidence)
    if not inspect.isawaitable(result):
        return result
    import asyncio  # slow, and seldom needed

    return asyncio.run(_awaited(result))


def describe(address: str, judge: WorkerJudge) -> dict[str, Any]:
    """Which code a metric is: a digest of the repository's files that its import loads, and DeepEval's version."""
    _find(address, judge)
    root = os.getcwd() + os.sep  # noqa: PTH109 - compared as text
    files = {str(getattr(module, "__file__", "") or "") for module in list(sys.modules.values())}
    total = hashlib.sha256()
    for file in sorted(file for file in files if file.startswith(root) and "/site-packages/" not in file):
        total.update(file.removeprefix(root).encode("utf-8", "surrogateescape") + b"\0")
        total.update(hashlib.sha256(Path(file).read_bytes()).digest())
    return {"code": total.hexdigest(), "deepeval": deepeval_metrics.version()}


def _find(address: str, judge: WorkerJudge) -> Any:
    deepeval_metrics.prepare(judge, needed=address.partition(":")[0].partition(".")[0] == "deepeval")
    found = find(address)
    deepeval_metrics.adopt(judge)
    return found


def _takes_judge(method: Callable[..., Any]) -> bool:
    try:
        return "judge" in inspect.signature(method).parameters
    except ValueError:  # a builtin does not say
        return False


async def _awaited(result: Any) -> Any:
    return await result


MAX_CASES, MAX_MESSAGE, MAX_PRINTED, MAX_TEXT = 500, 4_000, 2_000, 60_000
"""Of one test: sets of parameters that are reported; characters of a failure, of what it printed, of all failures."""
_NOT_REACHED = "it was deselected, or pytest ended before it"
_IGNORED = "ignore::pytest.PytestAssertRewriteWarning"
_WITHOUT = ("-q", "--runxfail", "-p", "no:cacheprovider", "-o", "addopts=", "-W", _IGNORED)
"""An expected failure is one, and options of the repository, such as ``-n 4``, do not apply."""


def run_test(node: str, known: list[str], judge: WorkerJudge) -> dict[str, Any]:
    """Run one test function of pytest with all of its parameters.

    Args:
        node: of the function, ``file::name`` or ``file::Class::name``, from the current folder.
        known: every such name of the file after its path; another test in it is a failure, since nobody would run it.

    Returns:
        ``cases``: each set of parameters with its outcome and, unless it passed, why.

    Raises:
        AdapterError: pytest is not installed.
    """
    folder = tempfile.mkdtemp(prefix="ratiba-test-")
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    root = os.getcwd()  # noqa: PTH109 - the option holds a string
    deepeval_metrics.prepare(judge, needed=False)
    try:
        pytest = importlib.import_module("pytest")
    except ImportError as problem:
        command = f"{sys.executable} -m pip install pytest"
        raise AdapterError(f"pytest is not installed for the system's interpreter. Run: {command}") from problem
    file, _, name = node.partition("::")
    outcomes = _Outcomes(name, known, root, lambda: deepeval_metrics.adopt(judge))
    code = pytest.main([*_WITHOUT, f"--rootdir={root}", f"--basetemp={folder}/pytest", file], plugins=[outcomes])
    return {"cases": outcomes.cases(int(code))}


class _Outcomes:
    """A plug-in of pytest that runs one function's tests and keeps what came of each.

    Args:
        name: of the function in its file.
        known: of every function in the file.
        collected: called when the modules of the test have been imported.
    """

    def __init__(self, name: str, known: list[str], root: str, collected: Callable[[], None]) -> None:
        self._name, self._known, self._root, self._collected = name, set(known), root, collected
        self._found: dict[str, dict[str, str]] = {}
        self._errors: list[str] = []

    def pytest_collectreport(self, report: Any) -> None:
        """Keep why a file cannot be collected."""
        if not report.passed:
            why = _end(str(report.longrepr)) + isolation.explanation(self._root)
            self._errors.append(f"{report.nodeid} cannot be collected: {why}")

    def pytest_internalerror(self, excrepr: Any) -> None:
        """Keep why pytest itself gave up."""
        self._errors.append(_end(str(excrepr)))

    def pytest_itemcollected(self, item: Any) -> None:
        """Expect a result of every test of the function."""
        name = _name_of(item.nodeid)
        if name.partition("[")[0] == self._name:
            self._found[name] = {
                "name": name,
                "outcome": "not run",
                "message": _NOT_REACHED,
            }
        elif name.partition("[")[0] not in self._known:
            self._errors.append(f"{name} is in the file but cannot be found without running it; write it as a function")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave the tests of the function."""
        self._collected()
        items[:] = [item for item in items if _name_of(item.nodeid) in self._found]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the worst of set-up, test and teardown."""
        case = self._found.get(_name_of(report.nodeid))
        if case is None:
            return
        if report.when == "call" and report.passed and case["outcome"] == "not run":
            case["outcome"] = "passed"
        if not report.passed and case["outcome"] != "failed":
            case.update(outcome=str(report.outcome), message=_why(report))

    def cases(self, code: int) -> list[dict[str, str]]:
        """One entry for each set of parameters; one that failed where no test was run."""
        found = list(self._found.values())
        errors = [*self._errors]
        if not found and not errors:
            errors = [f"pytest collected no such test and ended with exit code {code}"]
        if len(found) > MAX_CASES:
            errors.append(f"it has {len(found):,} sets of parameters, more than {MAX_CASES}")
        if not errors and code and all(case["outcome"] == "passed" for case in found):
            errors = [f"pytest ended with exit code {code}"]
        if errors:
            found = [{"name": self._name, "outcome": "failed", "message": "; ".join(errors)[-MAX_MESSAGE:]}, *found]
        found, maximum = found[:MAX_CASES], MAX_TEXT // max(min(len(found), MAX_CASES), 1)
        return [{**case, "name": case["name"][:200], "message": case["message"][:maximum]} for case in found]


def _name_of(node: str) -> str:
    return node.partition("::")[2]


def _why(report: Any) -> str:
    if report.skipped:
        return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)[:MAX_MESSAGE]
    crash = getattr(report.longrepr, "reprcrash", None)
    message = str(crash.message if crash is not None else report.longrepr)[:MAX_MESSAGE]
    printed = str(report.capstdout).strip()
    return message + (f"\nIt printed: {printed[-MAX_PRINTED:]}" if printed else "")


def _end(text: str) -> str:
    return text.strip()[-MAX_PRINTED:]
