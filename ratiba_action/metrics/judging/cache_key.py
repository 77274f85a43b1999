"""The key of a judge's cached score."""

import hashlib
import re
from collections.abc import Iterable

from ratiba_action.model.canonical import canonical_json


def deepeval_cache_key(scenario_id: str, prompt_version: str, judge_model_version: str, metric_version: str) -> str:
    """SHA-256 of the canonical JSON of the four causes of a changed score, as 64 hexadecimal digits.

    Args:
        scenario_id: the scenario's ``id``.
        prompt_version: ``name@version`` of the prompts in use, see ``join_prompt_versions``.
        metric_version: ``name:version`` with DeepEval's version, such as ``swahili_fluency:1.0.0+deepeval-4.3.1``.
    """
    parts = {
        "scenario_id": scenario_id,
        "prompt_version": prompt_version,
        "judge_model_version": judge_model_version,
        "metric_version": metric_version,
    }
    return hashlib.sha256(canonical_json(parts).encode("ascii")).hexdigest()


def join_prompt_versions(versions: Iterable[str]) -> str:
    """One string for several prompts, whatever order they were used in."""
    return ",".join(sorted(set(versions)))


def metric_version(name: str, version: str) -> str:
    """``name:version`` of a metric: ``SwahiliFluencyMetric`` and ``1.0.0`` give ``swahili_fluency:1.0.0``."""
    stem = (name.removesuffix("Metric") or name).replace(":", ".")  # an address has a colon of its own
    return f"{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', stem).lower()}:{version}"
