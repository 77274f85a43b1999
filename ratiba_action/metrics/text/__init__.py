"""Comparison of texts: phrases, overlap, terms.

Pure. Imports ``util``, ``model`` and ``errors``. Start with ``key_phrases.py``.
"""
