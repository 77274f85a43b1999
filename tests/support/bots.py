"""Pull requests of dependency bots, each as the whole event that GitHub sends."""

from typing import Any

from githubkit.webhooks import parse_obj

from tests.support.github_objects import GithubObjects
from tests.support.github_state import Pull

RENOVATE, DEPENDABOT = "renovate[bot]", "dependabot[bot]"


def bot_event(pull: Pull) -> dict[str, Any]:
    """The ``pull_request`` event of a bot's new pull request 7, checked against GitHub's description.

    Args:
        pull: branch, title and author are those that the bot uses.
    """
    objects = GithubObjects("https://api.github.com", "salon/assistant")
    bot = {**objects.user(pull.author), "type": "Bot"}
    proposed = {**objects.pull(7, pull), "user": bot}
    payload = {"action": "opened", "number": 7, "pull_request": proposed, "sender": bot}
    payload["repository"] = objects.repository_of(objects.repository)
    parse_obj("pull_request", payload)
    return payload
