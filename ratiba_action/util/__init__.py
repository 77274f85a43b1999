"""Helpers that know nothing of the domain: YAML, git, files, patterns, text.

Imports ``errors``. Each module stands alone; start with the one whose name you look for.
"""
