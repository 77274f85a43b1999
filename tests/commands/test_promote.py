"""What the command refuses before it asks a server, and what it says to people."""

from pathlib import Path

import pytest

from ratiba_action.main import run

KEYS = {
    "RATIBA_LANGFUSE_HOST": "http://127.0.0.1:1",
    "RATIBA_LANGFUSE_PUBLIC_KEY": "pk-lf-test",
    "RATIBA_LANGFUSE_SECRET_KEY": "sk-lf-test",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "scenarios").mkdir(parents=True)
    return folder


def refused(checkout: Path, *options: str, keys: dict[str, str] = KEYS) -> int:
    return run(["promote", "--repo", str(checkout), *options], {**keys, "HOME": str(checkout.parent)})


def test_without_keys_nothing_can_be_promoted(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(checkout, keys={}) == 2
    assert "nothing can be promoted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--since", "a week", "24h, 7d or 2w"),
        ("--since", "0d", "24h, 7d or 2w"),
        ("--max", "0", "from 1 to 9999"),
        ("--review-days", "-1", "from 1 to 9999"),
        ("--seconds", "0", "more than 0"),
        ("--repo", "nowhere", "There is no folder"),
        ("--tenants", "nowhere", "cannot be read"),
    ],
)
def test_a_wrong_option_is_refused_with_what_is_allowed(
    checkout: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, allowed: str
) -> None:
    assert refused(checkout, f"{option}={value}") == 2
    assert allowed in capsys.readouterr().err


def test_names_of_customers_do_not_belong_into_the_checkout(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = checkout / "tenants.yaml"
    path.write_text("tenants: {spa: {vertical: spa, names: [Wanjiku Kamau]}}\n")
    assert refused(checkout, "--tenants", str(path)) == 2
    stderr = capsys.readouterr().err
    assert "is in the checkout" in stderr
    assert "Wanjiku" not in stderr


def test_a_mistake_in_the_file_of_tenants_is_reported_without_its_values(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tenants.yaml"
    path.write_text("tenants:\n  spa: {vertical: spa,\n    names: Wanjiku Kamau}\n")
    assert refused(checkout, "--tenants", str(path)) == 2
    stderr = capsys.readouterr().err
    assert "tenants.yaml:3: invalid; each id below `tenants`" in stderr
    assert "Wanjiku" not in stderr


def test_the_state_does_not_belong_into_the_checkout(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(checkout, "--state", str(checkout / "state")) == 2
    assert "inside the checkout" in capsys.readouterr().err


def test_a_server_that_is_not_there_is_reported_to_people(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(checkout, "--seconds", "1") == 3
    printed = capsys.readouterr()
    assert "0 candidates of 0 thumbs-down." in printed.out
    assert "the next run continues" in printed.err


def test_the_former_name_of_an_option_counts_with_a_warning_and_not_beside_the_new_one(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(checkout, "--most=0") == 2
    printed = capsys.readouterr().err
    assert ": --most is now --max." in printed
    assert "--max is '0'" in printed
    with pytest.raises(SystemExit):
        refused(checkout, "--most=1", "--max=2")
    assert "not allowed with argument" in capsys.readouterr().err
