"""Which dependencies a change moves, read from manifests and lock files.

Bare Python. Imports ``util``, ``model`` and ``errors``. Start with ``files.py``, then ``compare.py``.
"""
