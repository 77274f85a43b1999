# ruff: noqa: INP001 - a script beside the shell's, no package
"""Builds images and starts containers of the system under test on the runner: see docs/decisions/0143.

Run as ``python3 -I engine.py``, with the key on standard input: isolated mode ignores the working folder.
"""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 - as entrypoint.py
    from ratiba_action.systems.engine_server import main

    sys.exit(main(sys.argv[1:]))
