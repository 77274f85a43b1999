"""GitHub: REST calls, comments, statuses, the files of a step; and GitLab's notes, which are comments too.

Imports ``verdict`` and what lies below it. Start with ``github_api.py``.
"""
