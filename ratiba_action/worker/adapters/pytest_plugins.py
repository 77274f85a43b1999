"""Which of pytest's plug-ins are imported once for all tests of the repository.

Each test function has a process of its own, in which pytest would import every installed plug-in again: most of a
second of CPU time where DeepEval brings its own.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
from importlib import metadata

from . import deepeval_metrics

KNOWN = frozenset(
    {
        "_hypothesis_pytestplugin",
        "anyio",
        "deepeval",
        "langsmith",
        "pytest",
        "pytest_asyncio",
        "pytest_repeat",
        "pytest_rerunfailures",
        "syrupy",
        "xdist",
    }
)
"""Packages that start no thread when they are imported, and read nothing then that tests differ in.

Not Hypothesis itself: it finds its database in the folder that it is imported in, and imports what the repository has
registered with it.
"""

_INSTALLED = ("site-packages", "dist-packages")


def load() -> None:
    """Import DeepEval and the installed plug-ins that pytest will import."""
    deepeval_metrics.load()
    named = {"pytest"}
    if not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        with contextlib.suppress(TypeError):  # before Python 3.10 entry points have no groups
            named |= {point.module for point in metadata.entry_points(group="pytest11")}
    for module in sorted(named):
        top = module.partition(".")[0]
        if top in KNOWN and _is_installed(top):
            with contextlib.suppress(BaseException):
                importlib.import_module(module)


def _is_installed(top: str) -> bool:
    found = importlib.util.find_spec(top)
    return found is not None and any(folder in (found.origin or "") for folder in _INSTALLED)
