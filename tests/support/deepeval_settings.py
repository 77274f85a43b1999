"""DeepEval in the tests' own process; in a run it has processes of its own."""

from collections.abc import MutableMapping
from pathlib import Path

from ratiba_action.metrics.judging.deepeval_bridge import QUIET


def configure_deepeval(environment: MutableMapping[str, str], home: Path) -> None:
    """Keep DeepEval in this process off the network and off the checkout; call it before ``load_deepeval``.

    Args:
        home: a folder for whatever DeepEval writes; made if it is not there.
    """
    home.mkdir(parents=True, exist_ok=True)
    environment.update(QUIET)
    environment["DEEPEVAL_HOME"] = str(home)
    environment["DEEPEVAL_CACHE_FOLDER"] = str(home / "cache")
    for name in ("CONFIDENT_API_KEY", "DEEPEVAL_MODE", "DEEPEVAL_EVAL_MODE"):
        environment.pop(name, None)
