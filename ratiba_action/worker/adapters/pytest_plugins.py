"""Which of pytest's plug-ins are imported once for all tests of the repository.

Each test function has a process of its own, in which pytest would import every installed plug-in again: more than a
second of CPU time where DeepEval brings its own.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from importlib import metadata

from . import deepeval_metrics

KNOWN = frozenset(
    {
        "_hypothesis_pytestplugin",
        "anyio",
        "deepeval",
        "hypothesis",
        "langsmith",
        "pytest",
        "pytest_asyncio",
        "pytest_repeat",
        "pytest_rerunfailures",
        "syrupy",
        "xdist",
    }
)
"""Packages that start no thread when they are imported, and read then no variable that tests differ in."""

_INSTALLED = ("site-packages", "dist-packages")


def load() -> None:
    """Import DeepEval and what pytest will; a module of the repository with such a name is left to pytest."""
    deepeval_metrics.load()
    named = {"pytest", *(point.module for point in metadata.entry_points(group="pytest11"))}
    if "_hypothesis_pytestplugin" in named:
        named.add("hypothesis")  # which its plug-in imports when pytest starts
    for module in sorted(named):
        top = module.partition(".")[0]
        if top in KNOWN and _is_installed(top):
            with contextlib.suppress(BaseException):
                importlib.import_module(module)


def _is_installed(top: str) -> bool:
    found = importlib.util.find_spec(top)
    return found is not None and any(folder in (found.origin or "") for folder in _INSTALLED)
