"""The line from decision to outcome, and the wiring of ports to their implementations.

Imports all packages of lower layers. Start with ``gate.py``.
"""
