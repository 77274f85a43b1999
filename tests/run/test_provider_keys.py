"""Without a key nothing is asked live, and whoever started the run is told where theirs belongs."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from ratiba_action.config.configuration import Configuration
from ratiba_action.errors import ConfigurationError, InfrastructureError
from ratiba_action.model.answer_origin import Llm
from ratiba_action.run.provider_keys import (
    keys_line,
    keys_of,
    recording_remedy,
    require_key,
    source_of_answers,
)
from ratiba_action.settings.environment import take_secrets
from ratiba_action.settings.settings import read_settings

CONFIGURATION = Configuration.model_validate({"system": {"replay": {}}})


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, "environment variable RATIBA_ANTHROPIC_API_KEY or RATIBA_OPENAI_API_KEY"),
        ({"GITHUB_ACTIONS": "true"}, "anthropic-api-key or openai-api-key from the repository's secrets"),
    ],
)
def test_a_missing_key_is_reported_with_the_place_where_it_belongs(environment: Mapping[str, str], place: str) -> None:
    with pytest.raises(InfrastructureError, match=place):
        require_key(read_settings(environment, {"llm": "live"}), CONFIGURATION, environment)


@pytest.mark.parametrize(
    ("environment", "llm", "answers"),
    [({"RATIBA_OPENAI_API_KEY": "planted-key"}, "live", "live"), ({}, "replay", "replay")],
)
def test_a_run_with_a_key_and_a_replay_may_begin(environment: Mapping[str, str], llm: str, answers: str) -> None:
    settings = read_settings(environment, {"llm": llm})
    require_key(settings, CONFIGURATION, environment)
    assert source_of_answers(settings, keys_of(settings, CONFIGURATION), 0) == answers


DECLARED = Configuration.model_validate(
    {
        "system": {"replay": {}},
        "providers": {
            "groq": {"api": "openai", "base_url": "https://api.groq.com/openai/v1", "key": "GROQ_API_KEY"},
            "ollama": {"api": "openai", "base_url": "http://127.0.0.1:11434/v1"},
        },
    }
)


def test_a_key_that_the_configuration_names_is_used_and_one_that_only_lies_there_is_not() -> None:
    around = {"GROQ_API_KEY": "gsk_planted_key", "MISTRAL_API_KEY": "planted-key-too", "OPENAI_API_KEY": "sk-planted"}
    settings = read_settings(around, {})
    assert keys_of(settings, DECLARED) == {"groq": "gsk_planted_key", "ollama": ""}
    assert keys_of(settings, CONFIGURATION) == {}


def test_a_key_of_the_shell_is_used_by_live_and_record_and_by_nothing_else() -> None:
    around = {"OPENAI_API_KEY": "sk-planted", "ANTHROPIC_API_KEY": "sk-ant-planted"}
    both = {"openai": "sk-planted", "anthropic": "sk-ant-planted"}
    for llm, expected in {"auto": {}, "replay": {}, "live": both}.items():
        assert keys_of(read_settings(around, {"llm": llm}), CONFIGURATION) == expected
    recording = replace(read_settings(around, {}), llm=Llm.RECORD)
    assert keys_of(recording, CONFIGURATION) == both


def test_a_key_that_was_given_to_the_gate_wins_over_one_of_the_shell() -> None:
    around = {"OPENAI_API_KEY": "sk-of-the-shell", "RATIBA_OPENAI_API_KEY": "sk-given"}
    assert keys_of(read_settings(around, {"llm": "live"}), CONFIGURATION) == {"openai": "sk-given"}


@pytest.mark.parametrize(
    ("provider", "address"),
    [("openai", "OPENAI_BASE_URL"), ("openai", "OPENAI_API_BASE"), ("anthropic", "ANTHROPIC_BASE_URL")],
)
def test_a_key_beside_the_address_of_another_server_is_not_sent_to_the_provider(provider: str, address: str) -> None:
    around = {f"{provider.upper()}_API_KEY": "sk-planted", address: "http://127.0.0.1:8000/v1"}
    settings = read_settings(around, {"llm": "live"})
    assert keys_of(settings, CONFIGURATION) == {}
    with pytest.raises(InfrastructureError, match=f"{address} is too, so the key may be another server's") as caught:
        require_key(settings, CONFIGURATION, around)
    assert "sk-planted" not in str(caught.value)


@pytest.mark.parametrize("text", ["abc", "sk-planted\n"])
def test_a_text_that_is_no_key_is_named_by_its_variable_and_by_what_is_wrong_with_it(text: str) -> None:
    around = {"ANTHROPIC_API_KEY": text}
    settings = read_settings(around, {"llm": "live"})
    with pytest.raises(InfrastructureError, match="ANTHROPIC_API_KEY is set, but is not used: a key has at") as caught:
        require_key(settings, CONFIGURATION, around)
    assert "planted" not in str(caught.value)


def test_the_keys_that_a_run_may_spend_are_named_and_not_shown() -> None:
    around = {"OPENAI_API_KEY": "sk-planted", "RATIBA_ANTHROPIC_API_KEY": "sk-ant-x", "GROQ_API_KEY": "gsk_planted"}
    settings = read_settings(around, {"llm": "live"})
    line = "Models are called with the keys in RATIBA_ANTHROPIC_API_KEY, GROQ_API_KEY (groq), OPENAI_API_KEY."
    assert keys_line(settings, DECLARED, around) == line
    in_workflow = {"GITHUB_ACTIONS": "true", "RATIBA_OPENAI_API_KEY": "sk-planted"}
    line = "Models are called with the key in openai-api-key."
    assert keys_line(read_settings(in_workflow, {}), CONFIGURATION, in_workflow) == line
    assert keys_line(read_settings({}, {}), CONFIGURATION, {}) == ""


def test_the_input_provider_keys_wins_over_the_environment() -> None:
    around = {"GROQ_API_KEY": "gsk_planted_key", "RATIBA_PROVIDER_KEYS": "GROQ_API_KEY=gsk_of_the_input"}
    assert keys_of(read_settings(around, {}), DECLARED)["groq"] == "gsk_of_the_input"


def test_every_key_around_is_masked_and_none_is_shown() -> None:
    around = {"MISTRAL_API_KEY": "planted-key", "RATIBA_PROVIDER_KEYS": "GROQ_API_KEY=planted-too"}
    settings = read_settings(around, {})
    assert set(settings.secrets) == {"planted-key", "planted-too"}
    assert "planted" not in repr(settings)


@pytest.mark.parametrize("text", ["GROQ_API_KEY", "groq=planted-key", "GROQ_API_KEY=abc", "A_KEY=planted-key A_KEY=x"])
def test_provider_keys_of_another_form_are_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ConfigurationError, match="NAME=value pairs") as caught:
        read_settings({"RATIBA_PROVIDER_KEYS": text}, {})
    assert "planted" not in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "with your key in GROQ_API_KEY."),
        ({"GITHUB_ACTIONS": "true"}, "give the action provider-keys from the repository's secrets"),
        ({"GROQ_API_KEY": "planted-key"}, "leave out llm: replay"),
    ],
)
def test_what_to_do_without_a_recording_names_the_key_of_the_provider_that_would_be_called(
    environment: Mapping[str, str], message: str
) -> None:
    remedy = recording_remedy(environment, "groq", "greeting", declared=DECLARED.providers["groq"])
    assert message in remedy
    assert "RATIBA_GROQ_API_KEY" not in remedy
    assert "groq-api-key" not in remedy


def test_recordings_of_a_stand_in_are_made_again_as_such() -> None:
    remedy = recording_remedy({}, "openai", "greeting", variant="brief", authored=True)
    assert "ratiba record --scenario greeting --variant brief --authored --accept" in remedy
    assert "--authored" not in recording_remedy({}, "openai", "greeting")


def test_a_short_key_of_a_server_of_ones_own_is_used_and_masked() -> None:
    settings = read_settings({"GROQ_API_KEY": "sk-1234"}, {})
    assert keys_of(settings, DECLARED)["groq"] == "sk-1234"
    assert "sk-1234" in settings.secrets


BEDROCK = Configuration.model_validate(
    {"system": {"replay": {}}, "providers": {"aws": {"api": "bedrock", "region": "eu-west-1"}}}
)
AWS = {
    "AWS_ACCESS_KEY_ID": "AKIAPLANTED",
    "AWS_SECRET_ACCESS_KEY": "planted-secret",
    "AWS_SESSION_TOKEN": "planted-sts",
}


def test_credentials_of_aws_are_used_where_bedrock_is_declared_and_named_without_their_values() -> None:
    settings = read_settings(AWS, {})
    assert keys_of(settings, CONFIGURATION) == {}
    assert keys_of(settings, BEDROCK) == {"aws": "planted-secret"}
    assert keys_of(read_settings({"AWS_SECRET_ACCESS_KEY": "planted-secret"}, {}), BEDROCK) == {}
    line = keys_line(settings, BEDROCK, AWS)
    assert "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (aws)" in line
    assert not any(value in line for value in AWS.values())


def test_credentials_of_clouds_are_taken_from_children_and_masked() -> None:
    account = '{\n  "type": "service_account",\n  "private_key": "planted"\n}'
    variables = {**AWS, "AWS_BEARER_TOKEN_BEDROCK": "planted-bearer", "VERTEX_ACCOUNT_KEY": account, "PATH": "/bin"}
    given = dict(variables)
    environment = take_secrets(variables)
    assert variables == {"PATH": "/bin"}
    assert dict(environment) == {"PATH": "/bin"}
    settings = read_settings(environment, {})
    assert {*AWS.values(), account} <= set(settings.secrets)
    assert given["AWS_BEARER_TOKEN_BEDROCK"] not in repr(settings)
