"""A repository's own rule or metric, or one of DeepEval's, in a process of its own."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .adapters import deepeval_metrics
from .lookup import AdapterError, find

if TYPE_CHECKING:
    from collections.abc import Callable

    from .judge import Judge


def measure(address: str, evidence: dict[str, Any], judge: Judge) -> Any:
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
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


def describe(address: str, judge: Judge) -> dict[str, Any]:
    """Which code a metric is: a digest of the repository's files that its import loads, and DeepEval's version."""
    _find(address, judge)
    root = os.getcwd() + os.sep  # noqa: PTH109 - compared as text
    files = {str(getattr(module, "__file__", "") or "") for module in list(sys.modules.values())}
    total = hashlib.sha256()
    for file in sorted(file for file in files if file.startswith(root) and "/site-packages/" not in file):
        total.update(file.removeprefix(root).encode("utf-8", "surrogateescape") + b"\0")
        total.update(hashlib.sha256(Path(file).read_bytes()).digest())
    return {"code": total.hexdigest(), "deepeval": deepeval_metrics.version()}


def _find(address: str, judge: Judge) -> Any:
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
