"""``python -m ratiba_action``: the same as the console script ``ratiba``."""

import sys

from ratiba_action.main import main

if __name__ == "__main__":
    sys.exit(main())
