"""A fresh PostgreSQL tenant for each scenario: server, template schema, clones, roles.

Imports ``money``, ``ports`` and what lies below them. Start with ``provisioner.py``.
"""
