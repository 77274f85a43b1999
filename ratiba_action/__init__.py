"""Gate for changes to conversational LLM systems.

The layers and what each may import are the contracts in ``pyproject.toml``. Start with ``model``, then
``run/gate.py``.
"""
