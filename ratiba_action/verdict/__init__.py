"""From measurements to a verdict: comparison with the base, statistics, rules, trials.

Reads no file, clock, environment or network; of packages only numpy and SciPy, inside functions. Imports ``metrics``
and what lies below it. Start with ``decision.py``, then ``comparison.py`` (screen and confirm).
"""
