"""The publication of a run of the gate: every file, and colours and a table on a terminal."""

from collections.abc import Mapping
from typing import TextIO

from ratiba_action.publish.publishing import Publication
from ratiba_action.reporting.every_file import every_file
from ratiba_action.reporting.terminal import RichPrinter
from ratiba_action.settings.settings import Settings


def full_publication(settings: Settings, environment: Mapping[str, str], stream: TextIO) -> Publication:
    """A publication with everything that an installed gate can render; see ``Publication``."""
    return Publication(settings, environment, stream, RichPrinter, every_file)
