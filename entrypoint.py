"""The one way in for the runner's step and for the container; needs nothing installed to decide.

Run as ``python3 -I entrypoint.py``: isolated mode ignores the working folder and the environment, so this file puts
its own folder on the path. It imports nothing that takes time: the program first installs the handlers of signals.
"""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - `pathlib` takes 20 ms
    from ratiba_action.main import main

    sys.exit(main())
