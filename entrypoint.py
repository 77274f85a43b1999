"""The one way in for the runner's step and for the container; needs nothing installed to decide.

Run as ``python3 -I entrypoint.py``: isolated mode ignores the working folder and the environment, so this file puts
its own folder on the path.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from ratiba_action.main import main

    sys.exit(main())
