"""Take away what a run may not use: keys, ledger and token belong to a configuration that somebody has merged.

Who decides is answered by ``decide/trusted_configuration.py`` alone; what is read here is only whether the base has a
configuration at all.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ratiba_action.config.configuration import Configuration, load_configuration
from ratiba_action.decide.contents import Contents
from ratiba_action.decide.deciding import decide, event_of, request_of
from ratiba_action.decide.read import Change
from ratiba_action.decide.trusted_configuration import Base, Whose, whose_configuration
from ratiba_action.errors import ConfigurationError, InfrastructureError
from ratiba_action.model.answer_origin import Llm
from ratiba_action.run.base_commit import BaseCommit
from ratiba_action.run.inputs import RunRequest
from ratiba_action.settings.settings import Settings

_WITHHELD = "No key, ledger or token is used, because nobody has merged this configuration. "
_UNCONFIGURED = "The base has no configuration that can be used."
_UNKNOWN = "It is not known what the change is to be merged into."


def authorized(request: RunRequest) -> RunRequest:
    """The request with what it may use: as it is, or without a secret.

    Args:
        request: as it was asked for.
    """
    if request.settings.why_withheld:
        return request
    return replace(request, settings=_authorized(request.settings, request.decided.change)[1])


def authorized_configuration(
    settings: Settings, repository: Path, environment: Mapping[str, str]
) -> tuple[Settings, Configuration]:
    """The configuration that a command without a change of its own uses, and what it may use under it.

    In CI it is the base commit's where one decides; the checkout's otherwise.

    Args:
        environment: of the process; names the event in CI.

    Raises:
        ConfigurationError: the event is one that the gate must not run on.
        InfrastructureError: keys were given that may not be used.
        SuiteError: the configuration is wrong or missing.
    """
    from ratiba_action.github.clients import by_pygithub

    asked = replace(request_of(settings, event_of(environment, repository)), connect=by_pygithub)
    change = decide(asked, environment).change
    if change.refused is not None:
        raise ConfigurationError(change.refused.problem, change.refused.remedy)
    base, allowed = _authorized(settings, change)
    if allowed.withheld:
        raise InfrastructureError(allowed.why_withheld)
    return allowed, base or load_configuration(repository, settings.config)


def records_as_person(settings: Settings, change: Change) -> bool:
    """Whether somebody records on a laptop, by a configuration of their own: a new provider is not on the base yet."""
    return settings.llm is Llm.RECORD and whose_configuration(change.known) is Whose.PERSON


def _authorized(settings: Settings, change: Change) -> tuple[Configuration | None, Settings]:
    """The base's configuration where that is the one that decides, and the settings that may be used."""
    whose = whose_configuration(change.known)
    base = _configuration(settings, change) if whose is Whose.BASE else None
    if whose is Whose.BASE and base is None:
        whose = whose_configuration(replace(change.known, configured=False))
    if whose is not Whose.NOBODY:
        return base, settings
    why = _UNCONFIGURED if change.known.base in {Base.NAMED, Base.MERGED} else change.unmerged or _UNKNOWN
    return None, settings.without_secrets(_WITHHELD + why)


def _configuration(settings: Settings, change: Change) -> Configuration | None:
    """The base's configuration; None where it has none that can be used, or it cannot be read."""
    try:
        with Contents(change.git, change.files.base, change.files.head) as contents:
            return BaseCommit(settings, change, contents).configuration()
    except InfrastructureError:
        return None
