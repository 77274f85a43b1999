"""Scenario and case files: schema, loading, choice, and what the base keeps a change from relaxing.

Imports ``config``, ``verdict`` and what lies below them. Start with ``load.py``.
"""
