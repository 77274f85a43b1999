"""The ratchet: where base and head differ, the stricter of the two applies.

Imports what ``suite`` may. Start with ``strictness.py``.
"""
