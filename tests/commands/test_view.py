"""Options of ``ratiba view`` that cannot be used."""

from pathlib import Path

import pytest

from ratiba_action.main import run


@pytest.mark.parametrize(
    ("options", "problem", "remedy"),
    [
        (["--port", "http"], "--port is 'http'.", "a number from 0 to 65535"),
        (["--port", "65536"], "--port is '65536'.", "a number from 0 to 65535"),
        (["--scenario", "books"], "--scenario is an option of the chat.", "Add --chat."),
        (["--from", "nowhere"], "'nowhere' is neither a folder nor a branch", "--from"),
    ],
)
def test_what_cannot_be_used_is_said_with_what_helps(
    *,
    options: list[str],
    problem: str,
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["view", "--no-open", *options], {}) == 2
    printed = capsys.readouterr().err
    assert problem in printed
    assert remedy in printed
