"""The wire formats of the providers, and paid calls in them: bounded, reserved, sent, settled.

Imports ``money`` and what lies below it. Start with ``metered.py``.
"""
