"""The gateway that every model call of the system under test passes, live or from a recording.

Imports ``money`` and what lies below it. Start with ``server.py``, then ``endpoint.py``;
``providers`` has the calls to Anthropic and OpenAI.
"""
