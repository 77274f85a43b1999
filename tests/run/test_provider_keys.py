"""Without a key nothing is asked live, and whoever started the run is told where theirs belongs."""

from collections.abc import Mapping

import pytest

from ratiba_action.errors import InfrastructureError
from ratiba_action.run.provider_keys import require_key, source_of_answers
from ratiba_action.settings.settings import read_settings


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, "environment variable RATIBA_ANTHROPIC_API_KEY or RATIBA_OPENAI_API_KEY"),
        ({"GITHUB_ACTIONS": "true"}, "anthropic-api-key or openai-api-key from the repository's secrets"),
    ],
)
def test_a_missing_key_is_told_with_the_place_where_it_belongs(environment: Mapping[str, str], place: str) -> None:
    with pytest.raises(InfrastructureError, match=place):
        require_key(read_settings(environment, {"llm": "live"}), environment)


@pytest.mark.parametrize(
    ("environment", "llm", "answers"),
    [({"RATIBA_OPENAI_API_KEY": "planted-key"}, "live", "live"), ({}, "replay", "replay")],
)
def test_a_run_with_a_key_and_a_replay_may_begin(environment: Mapping[str, str], llm: str, answers: str) -> None:
    settings = read_settings(environment, {"llm": llm})
    require_key(settings, environment)
    assert source_of_answers(settings, 0) == answers
