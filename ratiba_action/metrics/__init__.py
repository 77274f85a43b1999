"""The metrics, each a module, and one table of them.

Imports ``checks``, ``llm``, ``observability`` and what lies below them. Start with ``registry.py``.
"""
