"""What ``ratiba doctor`` finds in a workflow that calls the gate."""

from pathlib import Path

import pytest

from ratiba_action.authoring.workflow_review import calls_gate, review_workflow

PROJECT = Path(__file__).parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SHORT = (PROJECT / "examples/workflows/eval-in-short.yml").read_text("utf-8")
LONG = (PROJECT / "ratiba_action/authoring/starter/eval-with-own-steps.yml").read_text("utf-8")


def filled(text: str) -> str:
    return text.replace("OWNER/", "salon/").replace("@COMMIT", f"@{COMMIT}")


@pytest.mark.parametrize("text", [SHORT, LONG], ids=["short", "long"])
def test_a_form_of_the_documentation_lacks_its_placeholders_alone(text: str) -> None:
    assert calls_gate(text.encode())
    (gap,) = review_workflow(text.encode())
    assert gap.kind == "placeholder"
    assert "OWNER" in text.splitlines()[gap.line - 1]
    assert review_workflow(filled(text).encode()) == ()


@pytest.mark.parametrize(
    ("good", "bad", "kind", "found"),
    [
        (f"@{COMMIT}", "@v1", "pin", "'v1' is no full commit"),
        ("      statuses: write ", "      # ", "permission", "lacks the permission statuses: write"),
        ("pull-requests: write", "pull-requests: read", "permission", "lacks the permission pull-requests: write"),
        ("  pull_request:", "  pull_request_target:", "trigger", "pull_request_target"),
        ("  merge_group:", "  merge_group: {paths: [a]}", "trigger", "`paths` leaves"),
        ("jobs:\n  gate:\n", "jobs:\n  gate:\n    secrets: inherit\n", "secrets", "every secret is handed over"),
    ],
)
def test_each_mistake_is_found_at_its_line(good: str, bad: str, kind: str, found: str) -> None:
    text = filled(SHORT)
    assert text.count(good) == 1
    changed = text.replace(good, bad)
    (gap,) = review_workflow(changed.encode())
    assert (gap.kind, found in gap.found) == (kind, True)
    assert gap.fix
    assert 0 < gap.line <= len(changed.splitlines())


def test_permissions_for_everything_are_more_than_the_gate_needs() -> None:
    text = filled(SHORT).replace("    permissions:\n      contents: read ", "    permissions: write-all\n    # ")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("      ") or "inputs" in line)
    (gap,) = review_workflow(text.encode())
    assert "'write-all' for every permission" in gap.found


def test_a_job_without_permissions_is_named() -> None:
    text = filled(SHORT).partition("    permissions:")[0].replace("permissions: {}\n", "")
    (gap,) = review_workflow(text.encode())
    assert "the repository's default permissions" in gap.found


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"jobs: 3", b"jobs: {a: 3}", b"a: [", b"\xff", b"jobs: {a: {steps: 1}}"]
)
def test_what_is_no_workflow_calls_no_gate(content: bytes) -> None:
    assert not calls_gate(content)
    assert [gap.kind for gap in review_workflow(content)] in ([], ["trigger"])
