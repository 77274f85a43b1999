"""Langfuse datasets: pull, push, run and add traces.

Imports ``run`` and what lies below it. Start with ``pulled.py`` and ``pushing.py``.
"""
