"""Where the gate was installed from, and the addresses that messages make of it."""

import json

import pytest

from ratiba_action.util.installation import UNKNOWN, Source, install_command, installed_from, page, source_in

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "url", ["https://github.com/salon/gate.git", "ssh://git@github.com/salon/gate", "https://github.com/salon/gate/"]
)
def test_a_package_from_a_repository_knows_its_owner_and_commit(url: str) -> None:
    text = json.dumps({"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT}})
    assert source_in(text) == Source("salon/gate", COMMIT)
    assert source_in(text).action == f"salon/gate@{COMMIT}"


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "no JSON", "[]", "{}", json.dumps({"url": "file:///home/a/gate", "dir_info": {"editable": True}})),
        json.dumps({"url": "https://elsewhere.example/salon/gate", "vcs_info": {"commit_id": COMMIT}}),
        json.dumps({"url": "https://github.com/salon/gate", "vcs_info": {"commit_id": "main"}}),
        json.dumps({"url": ["https://github.com/salon/gate"], "vcs_info": {"commit_id": COMMIT}}),
    ],
)
def test_any_other_package_has_placeholders(text: str | None) -> None:
    assert source_in(text) == UNKNOWN


def test_pages_and_extras_are_named_at_the_commit_that_is_installed() -> None:
    repository, commit = installed_from().repository, installed_from().commit
    assert page("adapters", "models") == f"https://github.com/{repository}/blob/{commit}/docs/adapters.md#models"
    assert f"git+https://github.com/{repository}@{commit}" in install_command("judges")
