"""Judges: a model scores a transcript, live, from a recording or from the cache.

Imports what ``metrics`` may. Start with ``live_judge.py``, then ``run_metric.py``.
"""
