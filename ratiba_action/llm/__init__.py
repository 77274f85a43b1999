"""The gateway that every model call of the system under test passes, live or from a recording.

Imports ``money`` and what lies below it. Start with ``server.py``, then ``wire_format.py`` and its table,
``endpoints.py``; ``providers`` has one module for each format, and the paid calls.
"""
