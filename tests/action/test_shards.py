"""The reports of shards enter the container of their merge, which names them by a place of its own."""

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "action" / "container.sh"
CREATE = """
. "$1"
docker() { printf '%s\\n' "$@" >>"$LOG"; }
mounts_work() { return 0; }
ENDED="" CANCELLED="" IMAGE=gate REPORT=/report VOLUMES=()
prepare_boxes "$WORK"
create_container "$WORK" gate
"""


def created(folder: Path, shards: str) -> tuple[list[str], Path]:
    """The words that a container is made with, and its inbox."""
    work, log = folder / "work", folder / "log"
    environment = {
        "PATH": "/usr/bin:/bin",
        "GITHUB_WORKSPACE": str(folder),
        "WORK": str(work),
        "LOG": str(log),
        "RATIBA_SHARDS": shards,
        "RUNNER_TEMP": str(folder),
    }
    subprocess.run(["bash", "-euc", CREATE, "create", str(SCRIPT)], env=environment, check=True, capture_output=True)
    return log.read_text().splitlines(), work / "inbox"


def test_a_merge_gets_the_reports_of_the_shards_read_only(tmp_path: Path) -> None:
    report = tmp_path / "artifacts" / "ratiba-shard-1-attempt-1" / "results.json"
    report.parent.mkdir(parents=True)
    report.write_text("{}")
    words, inbox = created(tmp_path, str(tmp_path / "artifacts"))
    given = [word for word in words if word.startswith("RATIBA_SHARDS")]
    assert given[-1] == "RATIBA_SHARDS=/run/ratiba/shards", "Docker takes the last one"
    assert (inbox / "shards" / "ratiba-shard-1-attempt-1" / "results.json").read_text() == "{}"
    assert f'type=bind,"source={inbox}",target=/run/ratiba,readonly' in words


def test_a_merge_without_any_artifact_is_a_merge_all_the_same(tmp_path: Path) -> None:
    words, inbox = created(tmp_path, str(tmp_path / "nothing-was-downloaded"))
    assert "RATIBA_SHARDS=/run/ratiba/shards" in words
    assert not (inbox / "shards").exists()


def test_every_other_run_merges_nothing(tmp_path: Path) -> None:
    words, _ = created(tmp_path, "")
    assert not [word for word in words if word.startswith("RATIBA_SHARDS")]
