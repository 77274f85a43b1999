"""Rendering of a finished run: comment, HTML, JUnit, CSV, JSON, terminal.

Imports ``github``, ``verdict`` and what lies below them. Start with ``summary.py``, which counts and words the
headline for all of them; ``comment.py`` lays the comment out.
"""
