"""``python -m ratiba_action`` is the console script."""

import sys

from ratiba_action.main import main

if __name__ == "__main__":
    sys.exit(main())
