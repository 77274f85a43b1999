"""Reads the comparison rules from a repository's configuration."""

from pathlib import Path

from ratiba_action.config.configuration import read_configuration, unreadable_configuration
from ratiba_action.model.comparison import Rules
from ratiba_action.util.locked_folder import read_plain_file


def configured_rules(repository: Path, name: str, *, required: bool) -> Rules:
    """The rules of the ``comparison`` section.

    Args:
        repository: the checkout.
        name: path of the configuration below it.
        required: whether the file must exist; if not, the defaults apply without it.

    Raises:
        SuiteError: the file is wrong; holds every problem.
        ConfigurationError: it cannot be read.
    """
    try:
        content = read_plain_file(repository, name)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not required:
            return Rules()
        raise unreadable_configuration(name, error) from error
    return read_configuration(name, content).comparison.rules
