"""GitHub: connection, REST calls, comments, statuses, the files of a step.

Imports ``verdict`` and what lies below it. Start with ``github_api.py``.
"""
