"""Pure translation of events into traces, spans and scores.

Imports ``model``, ``privacy``, ``util`` and ``errors``. Start with ``conversations.py``.
"""
