"""Deterministic assertions and rules: what a turn must do and must not say.

Reads no clock, environment or network; of packages only regex and JMESPath. Imports ``money`` and what lies below it.
Start with ``checks.py`` and ``turn_checks.py``.
"""
