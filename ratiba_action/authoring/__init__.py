"""What ``ratiba init``, ``ratiba generate`` and ``ratiba import`` write, and the published schemas.

Imports ``production``, ``run`` and what lies below them. Start with ``starter_files.py``.
"""
