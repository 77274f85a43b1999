"""What a run may use: everything that was given, or nothing of it."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.config.configuration import Configuration
from ratiba_action.errors import ConfigurationError, InfrastructureError
from ratiba_action.run.authority import authorized_configuration
from ratiba_action.run.provider_keys import keys_of, require_key
from ratiba_action.settings.settings import INPUTS, Settings, read_settings
from tests.support.git_repository import GitRepository

GIVEN = {
    "RATIBA_DATABASE_URL": "postgresql://u:planted-1@db/t",
    "RATIBA_LEDGER_URL": "postgresql://u:planted-2@db/l",
    "RATIBA_ANTHROPIC_API_KEY": "planted-3",
    "RATIBA_OPENAI_API_KEY": "planted-4",
    "RATIBA_PROVIDER_KEYS": "GROQ_API_KEY=planted-5",
    "RATIBA_LANGFUSE_HOST": "https://langfuse.example",
    "RATIBA_LANGFUSE_PUBLIC_KEY": "planted-6",
    "RATIBA_LANGFUSE_SECRET_KEY": "planted-7",
    "RATIBA_OTLP_ENDPOINT": "https://otlp.example",
    "RATIBA_OTLP_HEADERS": "authorization=planted-8",
    "RATIBA_SLACK_WEBHOOK_URL": "https://hooks.example/services/planted-9",
    "RATIBA_WEBHOOK_URL": "https://hooks.example/planted-10-and-more",
    "RATIBA_WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "RATIBA_JOURNAL_KEY": "planted-11-planted-11-planted-11-planted-11",
    "RATIBA_GITHUB_TOKEN": "planted-12",
    "RATIBA_GITLAB_TOKEN": "planted-13",
    "RATIBA_REDIS_URL": "redis://u:planted-14-and-more@redis/0",
    "MISTRAL_API_KEY": "planted-15",
    "OPENAI_API_KEY": "planted-16",
}
SYSTEM = "system: {adapter: 'shop.adapter:Adapter'}\n"
PROVIDER = "providers: {own: {api: openai, base_url: 'https://%s/v1', key: MISTRAL_API_KEY}}\n"


def test_without_secrets_nothing_is_left_to_use_and_everything_is_masked() -> None:
    settings = read_settings(GIVEN, {})
    bare = settings.without_secrets("Nobody has merged it.")
    assert bare.secrets == settings.secrets
    assert "planted" not in repr(bare)
    used = {field.name: getattr(bare, field.name) for field in fields(Settings) if field.name != "withheld"}
    assert "planted" not in repr(used)
    assert not any(used[entry.attribute] for entry in INPUTS if entry.secret)
    free = {"api": "openai", "base_url": "http://127.0.0.1:1/v1"}
    configuration = Configuration.model_validate({"system": {"replay": {}}, "providers": {"free": free}})
    assert keys_of(replace(bare, llm=read_settings({}, {"llm": "live"}).llm), configuration) == {}


def test_who_asks_for_live_answers_is_reported_why_there_is_no_key() -> None:
    bare = read_settings(GIVEN, {"llm": "live"}).without_secrets("Nobody has merged it.")
    with pytest.raises(InfrastructureError, match=r"No model is called\. Nobody has merged it"):
        require_key(bare, Configuration.model_validate({"system": {"replay": {}}}), {"GITHUB_ACTIONS": "true"})


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """A change with an address of its own is checked out; the clone's main has another."""
    repository = GitRepository(tmp_path / "checkout")
    repository.commit({".github/ratiba.yml": SYSTEM + PROVIDER % "honest.example"})
    repository.git("checkout", "--quiet", "-b", "change")
    repository.commit({".github/ratiba.yml": SYSTEM + PROVIDER % "thief.example"})
    return repository


def used(repository: GitRepository, given: dict[str, str], **environment: str) -> tuple[str, dict[str, Any]]:
    """Where a command of the checkout sends keys, and which."""
    settings = read_settings(given, {})
    allowed, configuration = authorized_configuration(
        settings, repository.folder, {**repository.environment, **environment}
    )
    return configuration.providers["own"].address, keys_of(allowed, configuration)


KEY = {"MISTRAL_API_KEY": "planted-15"}


def test_a_command_on_a_laptop_uses_the_configuration_that_lies_there(repository: GitRepository) -> None:
    assert used(repository, KEY) == ("https://thief.example/v1", {"own": "planted-15"})


def test_a_command_in_ci_uses_the_merged_one(repository: GitRepository) -> None:
    assert used(repository, KEY, CI="true") == ("https://honest.example/v1", {"own": "planted-15"})


def test_a_scheduled_command_uses_its_own_which_is_merged(repository: GitRepository) -> None:
    scheduled = {"GITHUB_EVENT_NAME": "schedule", "GITHUB_SHA": repository.git("rev-parse", "HEAD")}
    assert used(repository, KEY, **scheduled) == ("https://thief.example/v1", {"own": "planted-15"})


def test_a_command_of_which_nobody_knows_whether_it_is_merged_ends_where_keys_were_given(
    repository: GitRepository,
) -> None:
    with pytest.raises(InfrastructureError, match=r"nobody has merged this configuration.*GITHUB_TOKEN"):
        used(repository, KEY, GITHUB_EVENT_NAME="push")
    assert used(repository, {}, GITHUB_EVENT_NAME="push") == ("https://thief.example/v1", {})


def test_a_command_of_an_event_that_names_no_base_is_refused(repository: GitRepository) -> None:
    with pytest.raises(ConfigurationError, match="'issue_comment' is refused"):
        used(repository, KEY, GITHUB_EVENT_NAME="issue_comment")
