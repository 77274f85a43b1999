"""Masking: what identifies a person or opens an account is found in texts and replaced.

Reads no file, clock or network; of packages only phonenumbers. Imports ``model`` and ``errors``. Start with
``masking.py``; what is masked is found in ``identifiers.py`` (persons) and ``credentials.py``.
"""
