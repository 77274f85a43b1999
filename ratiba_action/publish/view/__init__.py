"""The pages of ``publish/site`` served on this machine, with the run that goes on: ``ratiba view``.

Imports ``history``, ``observability`` and what lies below them. Start with ``server.py`` (who may read what), then
``live_run.py`` (what is shown of a run while it goes on) and ``local_runs.py`` (which runs the pages are made of).
"""
