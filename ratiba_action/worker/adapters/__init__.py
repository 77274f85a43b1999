"""Adapters of the worker to frameworks: LangGraph, LangChain, LlamaIndex.

Imports the worker and, inside functions, the framework that the repository under test installed. Start with
``../lookup.py``.
"""
