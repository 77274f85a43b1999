"""From event and changed paths to blocking, advisory or skip, with reasons.

Runs on the bare Python of a runner. Imports ``github`` and what lies below it. Start with
``deciding.py`` and ``rules.py``.
"""
