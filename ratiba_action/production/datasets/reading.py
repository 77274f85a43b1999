"""Reads a dataset within a deadline."""

from ratiba_action.model.dataset_item import StoredDataset
from ratiba_action.observability.langfuse_access import LangfuseAccess
from ratiba_action.observability.langfuse_asking import Deadline
from ratiba_action.observability.langfuse_datasets import read_dataset
from ratiba_action.observability.langfuse_server import connected


def stored_dataset(access: LangfuseAccess, name: str) -> StoredDataset | None:
    """A dataset with all its items; None when there is none of that name.

    Args:
        access: with the seconds that everything may take.
        name: of the dataset.

    Raises:
        LangfuseError: no answer, or more than a suite can hold.
    """
    with connected(access, Deadline.after(access.seconds)) as server:
        return read_dataset(server, name)
