"""Recordings: files of model answers and judge scores that a run may use instead of a live call.

Imports ``money`` and what lies below it. Start with ``lines.py`` and ``folder.py``.
"""
