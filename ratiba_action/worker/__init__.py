"""The sandboxed process that runs the code of the repository under test, with its interpreter.

Imports nothing of the project and only the standard library. Start with ``start.py``, then ``supervisor.py``.
"""
