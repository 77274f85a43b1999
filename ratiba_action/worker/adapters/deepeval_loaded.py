"""Imports DeepEval where the interpreter has it; preloaded where metrics call a judge."""

import contextlib

from .deepeval_metrics import quieten

quieten()
with contextlib.suppress(ImportError):
    import deepeval.metrics  # noqa: F401 - what this module is for
