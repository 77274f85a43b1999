"""Publishing a finished run: report folder, comment, status, annotations, second workflow.

Imports ``decide``, ``history``, ``reporting`` and what lies below them. Start with ``publishing.py``.
"""
