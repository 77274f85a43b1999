"""What booking metrics read out of a reply: slots, times and payments in Swahili and English.

Pure. Imports ``util``, ``model`` and ``errors``. Start with ``slots.py``.
"""
