"""What identifies a judged metric: in reports and the cache with DeepEval's release, to the judge without it."""

from dataclasses import dataclass

from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.metrics.judging.deepeval_bridge import deepeval_version
from ratiba_action.model.canonical import digest
from ratiba_action.model.values import JsonObject
from ratiba_action.util.validation import StrictModel

BY_DEEPEVAL = "+deepeval-"
"""Before DeepEval's release in a version."""
_DIGITS = 8


def version_with(version: str, parameters: JsonObject | None) -> str:
    """``1.0.0`` without parameters, else ``1.0.0+`` and the first digits of their SHA-256.

    So a score that was kept or recorded under other parameters is never used.
    """
    return version if parameters is None else f"{version}+{digest(dict(parameters))[:_DIGITS]}"


@dataclass(frozen=True, slots=True)
class JudgedIdentity:
    """A judged metric's version.

    Args:
        version: with DeepEval's release where it words the questions; part of the cache's key.
        asks: ``name:version`` of its questions; part of a recording's key, which a release of DeepEval must not void.
    """

    version: str
    asks: str


def judged_identity(
    name: str, version: str, parameters: StrictModel | None = None, *, by_deepeval: bool = True
) -> JudgedIdentity:
    """The identity of a metric with these parameters.

    Args:
        parameters: what the scenario gives it; None where it takes none.
        by_deepeval: DeepEval words the questions.
    """
    parameters_version = version_with(version, parameters.model_dump(mode="json") if parameters is not None else None)
    shown = f"{parameters_version}{BY_DEEPEVAL}{deepeval_version()}" if by_deepeval else parameters_version
    return JudgedIdentity(shown, metric_version(name, parameters_version))
