"""What a run is given from outside: inputs, environment variables, deadline, report folder.

Runs on the bare Python of a runner. Imports ``util``, ``model`` and ``errors``. Start with ``settings.py``.
"""
