"""What caused a failure, and what a suite would not notice: runs of parts of a change, and of mutants.

Imports ``run`` and what lies below it. Start with ``partial_runs.py`` (which line did it) and ``mutation_runs.py``.
Mutants are found in ``code_mutants.py`` and ``prompt_mutants.py``. These two, ``mutation_score.py``,
``delta_debugging.py`` and ``bayesian_search.py`` are pure: they read no file, clock or network.
"""
