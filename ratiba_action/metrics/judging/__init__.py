"""Judges: a model scores a transcript, live, from a recording or from the cache.

Imports what ``metrics`` may. Start with ``structured_calls.py``, then ``run_metric.py``.
"""
