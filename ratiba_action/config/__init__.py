"""The configuration file, ``.github/ratiba.yml``: its blocks, read and checked.

Imports ``metrics`` and what lies below it. Start with ``configuration.py``.
"""
