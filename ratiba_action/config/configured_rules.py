"""The rules of a comparison as a repository's configuration has them."""

from pathlib import Path

from ratiba_action.config.configuration import read_configuration, unreadable_configuration
from ratiba_action.model.comparison import Rules
from ratiba_action.util.locked_folder import read_plain_file


def configured_rules(repository: Path, name: str, *, asked: bool) -> Rules:
    """What the block ``comparison`` says.

    Args:
        repository: the checkout.
        name: path of the configuration below it.
        asked: somebody named the file, so that it must be there; else the defaults hold without it.

    Raises:
        SuiteError: the file is wrong; holds every problem.
        ConfigurationError: it cannot be read.
    """
    try:
        content = read_plain_file(repository, name)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not asked:
            return Rules()
        raise unreadable_configuration(name, error) from error
    return read_configuration(name, content).comparison.rules
