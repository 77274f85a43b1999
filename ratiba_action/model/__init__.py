"""Every noun of the project, frozen, and its canonical JSON.

Imports nothing of the project but ``errors``, and no package. Start with ``scenario.py``, ``conversation.py`` and
``verdict.py``.
"""
