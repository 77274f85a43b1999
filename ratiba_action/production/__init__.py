"""Production conversations: sampling, feedback, and promotion to scenarios.

Imports ``run`` and what lies below it. Start with ``promotion.py`` and ``sampling.py``.
"""
