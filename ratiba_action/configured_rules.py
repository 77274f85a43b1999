"""The rules of a comparison as a repository's configuration has them."""

from pathlib import Path

from ratiba_action.configuration import read_configuration
from ratiba_action.core.model.comparison import Rules
from ratiba_action.errors import ConfigurationError
from ratiba_action.plain_file import read_plain_file


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
    except FileNotFoundError as error:
        if not asked:
            return Rules()
        raise _unreadable(name, error) from error
    except OSError as error:
        raise _unreadable(name, error) from error
    return read_configuration(name, content).comparison.rules


def _unreadable(name: str, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"The configuration {name!r} cannot be read: {error.strerror}.", "Name another with --config."
    )
