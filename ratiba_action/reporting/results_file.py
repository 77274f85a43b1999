"""The file of a run's results: its names, and how large it may be. ``results_json`` writes and reads it."""

RESULTS, COMPRESSED = "results.json", "results.json.gz"

MAX_BYTES = 250_000_000
"""Of a file, and of what it holds when it is unpacked: about 25,000 conversations of four turns."""
