"""Scenarios that a model proposes.

Imports what ``authoring`` may. Start with ``asking.py``.
"""
