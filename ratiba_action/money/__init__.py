"""Prices, the budget of a run, its write-ahead journal, the ledger of a month, and forecasts.

Imports ``ports``, ``settings``, ``util``, ``privacy``, ``model`` and ``errors``. Start with ``budget.py`` (pure), then
``reservations.py``.
"""
