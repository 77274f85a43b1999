"""The system under test as the gate sees it: set-up, work folders, one session per scenario.

Imports ``config`` and what lies below it. Start with ``choose.py``, then ``worker_system.py``.
Adapters to frameworks run in the sandbox: ``worker/adapters``.
"""
