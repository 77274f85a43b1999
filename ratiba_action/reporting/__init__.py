"""Rendering of a finished run: comment, HTML, JUnit, CSV, JSON, terminal.

Imports ``github``, ``verdict`` and what lies below them. Start with ``comment.py``.
"""
