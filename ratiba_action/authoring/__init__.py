"""What ``ratiba init`` and ``ratiba generate`` write, and the published schemas.

Imports ``production``, ``run`` and what lies below them. Start with ``starter_files.py``.
"""
