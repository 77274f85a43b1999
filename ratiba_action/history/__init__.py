"""Earlier runs: ``results.json`` of the base branch, artifacts, the database of all runs, trends.

Imports ``reporting`` and what lies below it. Start with ``results.py`` and ``store.py``.
"""
