"""Names of a suite's dataset and of its items, the same wherever they are needed."""

import hashlib
import json
from collections.abc import Mapping

OURS = "ratiba"
"""Key of the gate's own metadata of datasets and items."""

APART = "apart"
"""Key below it of a suite's dataset: files of cases with a dataset of their own."""

_ITEM_DIGEST = 8
_EXPERIMENT = 16


def suite_dataset(repository: str, gate: str) -> str:
    """The dataset that holds a gate's scenarios.

    Args:
        repository: ``owner/name``; empty on a laptop without a remote.
        gate: name of the gate; several may live in one repository.
    """
    return f"{repository}/{gate}" if repository else gate


def case_dataset(dataset: str, cases: str) -> str:
    """The dataset of one file of cases, where each has its own.

    Args:
        cases: id of the scenario with the file of cases.
    """
    return f"{dataset}/{cases}"


def cases_apart(metadata: object) -> tuple[str, ...]:
    """Ids of the files of cases that have datasets of their own, by the metadata of the suite's dataset."""
    own = metadata.get(OURS) if isinstance(metadata, Mapping) else None
    listed = own.get(APART) if isinstance(own, Mapping) else None
    return tuple(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()


def dataset_item_id(dataset: str, scenario: str) -> str:
    """The id of a scenario's item: unique in a project of several datasets, and safe in a URL."""
    return f"{scenario}-{hashlib.sha256(dataset.encode()).hexdigest()[:_ITEM_DIGEST]}"


def experiment_name(run: str, arm: str, variant: str) -> str:
    """What a run is called among the experiments on its dataset; each side of a comparison is one."""
    return " ".join(part for part in (run, arm, variant) if part)


def experiment_id(project: str, dataset: str, name: str) -> str:
    """The id that Langfuse derives for an experiment on a dataset (``langfuse-experiment-v1`` of its SDK 5).

    Args:
        dataset: id of the dataset; empty where there is none, and the name alone decides.
    """
    seed = ["langfuse-experiment-v1", project, dataset, name]
    text = json.dumps(seed, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_EXPERIMENT]
