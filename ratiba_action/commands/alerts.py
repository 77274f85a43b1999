"""Alerts that commands send besides a run's own."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ratiba_action.commands.options import checkout_of, print_warning
from ratiba_action.decide.event import subject_of
from ratiba_action.model.note import Alert, AlertKind
from ratiba_action.settings.settings import Settings

if TYPE_CHECKING:
    from ratiba_action.privacy.masking import Redactor


def alert_kinds(settings: Settings, *, required: bool) -> tuple[AlertKind, ...]:
    """The alerts that the configuration in this folder sends; all without one, none without an address.

    Args:
        settings: with the addresses and the configuration's path.
        required: whether the file must exist.

    Raises:
        ConfigurationError: the configuration is invalid, or a required one cannot be read.
    """
    from ratiba_action.config.configuration import optional_configuration  # needs pydantic

    if not (settings.slack_webhook_url or settings.webhook_url):
        return ()
    found = optional_configuration(checkout_of(), settings.config, required=required)
    return tuple(AlertKind) if found is None else found.notifications.kinds


def send_alert(
    settings: Settings,
    environment: Mapping[str, str],
    alert: Alert,
    kinds: Sequence[AlertKind],
    redactor: "Redactor | None" = None,
) -> None:
    """Send an alert of a command to the addresses of the settings; a failure is a warning on standard error."""
    from ratiba_action.publish.notifications import Message, notify

    subject = subject_of({}, None, environment)
    facts = {"repository": subject.repository} if subject.repository else {}
    message = Message(settings.name, (alert,), facts, subject.run_url)
    notify(settings, environment, message, kinds, print_warning, redactor=redactor)
