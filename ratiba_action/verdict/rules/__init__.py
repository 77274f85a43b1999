"""The rules of a verdict that need no base.

Imports what ``verdict`` may. Start with ``findings.py`` and ``pass_rate.py``.
"""
