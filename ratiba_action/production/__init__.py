"""Conversations of production, and what people say of them.

Seven subjects: conversations are sampled (``sampling.py``) and promoted to scenarios (``promotion.py``); scores are
watched for drift (``drift.py``) and for a new version's canary (``canary.py``); single replies are checked before they
are sent (``inline.py``); judges are calibrated against people (``calibration.py``,
``judge_calibration.py``); scenarios and Langfuse datasets are kept the same (``datasets/``).

Imports ``run`` and what lies below it. Start with ``promotion.py`` and ``sampling.py``.
"""
