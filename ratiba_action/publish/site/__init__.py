"""The history of runs as pages without a server: ``ratiba site``.

Imports ``history`` and what lies below it. Start with ``runs.py`` (what is kept of each run), then ``pages.py``.
"""
