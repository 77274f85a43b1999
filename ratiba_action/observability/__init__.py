"""The event log, and sending it to Langfuse as traces and scores.

Imports ``checks`` and what lies below it. Start with ``event_lines.py``.
"""
