"""Scenario and case files: schema, loading, selection, and the ratchet between base and head.

Imports ``config``, ``verdict`` and what lies below them. Start with ``load.py``.
"""
