"""Paid calls to Anthropic and OpenAI: bounded, reserved, sent, settled.

Imports ``money`` and what lies below it. Start with ``metered.py``.
"""
