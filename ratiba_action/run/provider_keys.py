"""Keys of providers: which a run has, what to do without one, and whether it may call live models."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from ratiba_action.config.configuration import Configuration
from ratiba_action.config.providers_block import ProviderBlock
from ratiba_action.errors import InfrastructureError
from ratiba_action.llm.answers import MOCK
from ratiba_action.model.answer_origin import Llm
from ratiba_action.settings.input_values import LIVE
from ratiba_action.settings.provider_keys import BUILT_IN, SHELL_KEYS
from ratiba_action.settings.settings import Settings

_IN_A_WORKFLOW = (
    "Give anthropic-api-key or openai-api-key from the repository's secrets. A fork's run and Dependabot's get "
    "none: have a maintainer start the workflow by hand with the pull request's number, or use llm: replay."
)
_ON_A_LAPTOP = (
    "Put the key of a provider into the environment variable RATIBA_ANTHROPIC_API_KEY or RATIBA_OPENAI_API_KEY."
)


def key_variable(provider: str) -> str:
    """Name of the environment variable that holds a provider's key for the gate."""
    return f"RATIBA_{provider.upper()}_API_KEY"


def keys_line(settings: Settings, configuration: Configuration, environment: Mapping[str, str]) -> str:
    """Which keys a run may spend, by the names of their variables or inputs; empty without any.

    Args:
        environment: says whether this is a workflow, which has inputs.
    """
    in_workflow = environment.get("GITHUB_ACTIONS") == "true"
    names: list[str] = []
    for provider, key in sorted(keys_of(settings, configuration).items()):
        declared = configuration.providers.get(provider)
        if declared is not None:
            needed = " and ".join(_needed(declared))
            names += [f"{needed} ({provider})"] if key else []
        elif environment.get(key_variable(provider)):
            names.append(f"{provider}-api-key" if in_workflow else key_variable(provider))
        else:
            names.append(SHELL_KEYS[provider][0])
    return f"Models are called with the {'key' if len(names) == 1 else 'keys'} in {', '.join(names)}." if names else ""


def unused_key(environment: Mapping[str, str], provider: str) -> str:
    """Name of the variable that holds a provider's key for other programs, where the gate was given none; else empty.

    Only ``record`` and ``--llm live`` spend such a key: whoever has it in a shell did not ask for anything to be paid.
    """
    name = SHELL_KEYS[provider][0] if provider in SHELL_KEYS else ""
    return name if environment.get(name) and not environment.get(key_variable(provider)) else ""


def _another_server(environment: Mapping[str, str], provider: str) -> str:
    """The variable by which a shell's key of a provider is another server's; empty where there is none."""
    return next((name for name in SHELL_KEYS[provider][1] if environment.get(name)), "")


def recording_remedy(
    environment: Mapping[str, str],
    provider: str,
    scenario_id: str,
    lead: str = "Run:",
    variant: str = "",
    *,
    declared: ProviderBlock | None = None,
    authored: bool = False,
) -> str:
    """What to do where no recorded answer applies: the command that records one, with the key that it needs.

    Args:
        environment: says which keys are there, and whether this is a workflow.
        provider: of the model that would be called.
        lead: begins the sentence, and ends with a colon.
        variant: of the system; empty for none.
        declared: the provider's block in the configuration; None for one that needs no declaration.
        authored: whether the recordings until now were written by hand, or came from a program.
    """
    options = (f" --variant {variant}" if variant else "") + (" --authored" if authored else "")
    command = f"{lead} ratiba record --scenario {scenario_id}{options} --accept"
    name, plain, entry = key_variable(provider), unused_key(environment, provider), f"{provider}-api-key"
    if declared is not None:
        name, plain, entry = declared.key_variable or "", "", "provider-keys"
    if not name or environment.get(name):
        return f"{command}. Or leave out llm: replay, so that the gate calls the model itself."
    if environment.get("GITHUB_ACTIONS") == "true":
        return (
            f"{command} on your machine, and commit the recordings. Or give the action {entry} from the "
            "repository's secrets, so that the gate calls the model itself."
        )
    if plain and not _another_server(environment, provider):
        return f"{command}. It calls the model with the key in {plain}; nothing else spends that key."
    return f"{command}, with your key in {name}. Or set {name} for the gate, so that it calls the model itself."


def require_key(
    settings: Settings,
    configuration: Configuration,
    environment: Mapping[str, str],
    *,
    task: str = "",
    way_out: str = MOCK,
) -> None:
    """Refuse to call models without a key: what was asked for live is never replayed instead.

    Args:
        environment: says whether a key comes from a repository's secrets or from a person's own variables.
        task: what calls a model where no scenario does, such as ``Proposing scenarios``; then there is no way out.
        way_out: what to do without a key.

    Raises:
        InfrastructureError: live answers are asked for, and there is no key.
    """
    if settings.llm in LIVE and settings.why_withheld:
        raise InfrastructureError(f"No model is called. {settings.why_withheld}")
    if settings.llm in LIVE and not keys_of(settings, configuration):
        recording, in_workflow = settings.llm == Llm.RECORD, environment.get("GITHUB_ACTIONS") == "true"
        why, undone = ("Recording calls models", "recorded") if recording else (f"llm is '{settings.llm}'", "measured")
        if task:
            why, undone = f"{task} calls a model", "written"
        remedy = _IN_A_WORKFLOW if in_workflow else _on_a_laptop(environment)
        raise InfrastructureError(
            f"{why}, and there is no key to call a model with, so nothing was {undone}.",
            remedy if task else f"{remedy} {way_out}",
        )


def _on_a_laptop(environment: Mapping[str, str]) -> str:
    """Which variable to set; a key that other programs use is named with the line that gives it to the gate."""
    unused = [
        (unused_key(environment, provider), key_variable(provider), provider)
        for provider in BUILT_IN
        if unused_key(environment, provider)
    ]
    if not unused:
        return _ON_A_LAPTOP
    plain, name, provider = unused[0]
    address = _another_server(environment, provider)
    if not address:
        return (
            f"{plain} is set, but is not used: a key has at least four characters, and none that cannot be printed, "
            f"such as the end of a line. Set {plain} or {name} to the key alone."
        )
    return (
        f"{plain} is set, but {address} is too, so the key may be another server's and is not sent to {provider}. "
        f"If it is that server's, set RATIBA_{provider.upper()}_BASE_URL to its address and {name} to the key."
    )


def keys_of(settings: Settings, configuration: Configuration) -> dict[str, str]:
    """The keys that a run may use, by provider: those of the inputs, and those that the configuration names.

    An empty text is the key of a provider that needs none.
    """
    if settings.why_withheld:
        return {}  # nor any provider of an unmerged configuration that needs no key
    declared = {
        name: settings.named_keys.get(provider.key_variable, "") if provider.key_variable is not None else ""
        for name, provider in configuration.providers.items()
        if all(settings.named_keys.get(variable) for variable in _needed(provider))
    }
    return settings.keys | declared


def _needed(provider: ProviderBlock) -> tuple[str, ...]:
    """Variables without which a provider cannot be called."""
    access = (provider.access_key,) if provider.api == "bedrock" else ()
    return (*access, *([provider.key_variable] if provider.key_variable is not None else []))


def source_of_answers(settings: Settings, keys: Mapping[str, str], edited_recordings: int) -> Llm:
    """Where this run's answers come from: ``replay``, ``auto``, ``live`` or ``record``.

    ``auto`` without a key replays. With one it calls a model where no recording fits, and for everything when the
    change itself edits recordings: it must not be judged by what it brought along.
    """
    if settings.llm != Llm.AUTO:
        return settings.llm
    if not keys:
        return Llm.REPLAY
    return Llm.LIVE if edited_recordings else Llm.AUTO


def state_folder(environment: Mapping[str, str]) -> Path:
    """What outlives a run (XDG Base Directory Specification)."""
    home = environment.get("HOME") or tempfile.gettempdir()
    return Path(environment.get("XDG_STATE_HOME") or Path(home) / ".local" / "state") / "ratiba"
