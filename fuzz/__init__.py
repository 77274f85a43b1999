"""A fuzz campaign against the gate: hostile checkouts, systems, requests, answers and signals, each case from a seed.

Start reading at ``__main__``. A kind of case is a module with a function that takes a ``Case``; ``kinds`` lists them.
May import everything of ``ratiba_action``; nothing imports it.
"""
