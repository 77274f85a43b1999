"""Conversations of production, and what people say of them.

Seven subjects: conversations are sampled (``sampling.py``) and promoted to scenarios (``promotion.py``); scores of
production are watched for drift (``drift.py``), those of a new version in a canary (``canary.py``), and single replies
while they are given (``inline.py``); judges are calibrated against people (``calibration.py``,
``judge_calibration.py``); scenarios and Langfuse datasets are kept the same (``datasets/``). Imports ``run`` and what
lies below it.
"""
