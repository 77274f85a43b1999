"""The image with all packages: what it adds runs in it as the gate starts it, without a network."""

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.container_image import CONFINED, REPORT, Confined, build, finished
from tests.support.live_calls import service_account, with_tokens_from
from tests.support.prison import give
from tests.support.small_repository import CONFIGURATION, SmallRepository

pytestmark = pytest.mark.docker
PROJECT = Path(__file__).parents[2]
SCENARIO = """\
id: opening
language: sw
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns:
  - user: say Tunafungua saa tatu asubuhi kila siku, karibu sana.
    expect: {state: SAID, language: sw, answer: "Tunaanza kazi saa tatu asubuhi."}
assertions:
  - {metric: ReplyLanguageMetric, threshold: 1.0}
  - {metric: CodeSwitchMetric, threshold: 0.8}
  - {metric: EmbeddingSimilarityMetric, threshold: 0.3}
"""
SIGNING = """
import sys
sys.path.insert(0, "/opt/ratiba/app")
from ratiba_action.llm.providers.cloud import CloudAccess, CloudRequests
body = {"model": "claude", "max_tokens": 5, "messages": [{"role": "user", "content": "Habari"}]}
aws = CloudAccess("bedrock", "eu-west-1", access_key="AKIAPLANTEDEXAMPLE")
print(CloudRequests("aws", aws, "planted", "https://bedrock.example").write(body).headers["authorization"])
CloudRequests("google", CloudAccess("vertex", "europe-west1", project="planted"), sys.argv[1], "https://vertex.example")
"""


@pytest.fixture
def full(image: str) -> Iterator[str]:
    """Tag of the image with all packages; of the session's other image it has the layers that are the same."""
    tag = f"{image.partition(':')[0]}:full-{uuid.uuid4().hex[:8]}"
    build(PROJECT, tag, packages="full")
    yield tag
    subprocess.run(["docker", "image", "rm", "--force", tag], capture_output=True, check=True)


def test_the_image_with_all_packages_runs_what_it_adds(full: str, tmp_path: Path) -> None:
    folder, report = tmp_path / "repository", tmp_path / "report"
    shutil.copytree(PROJECT / "tests/end_to_end/small_system", folder, ignore=shutil.ignore_patterns("__pycache__"))
    small = SmallRepository(folder, report, {"PATH": os.environ["PATH"]})
    small.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20) + "metrics: {fluency: false}\n")
    small.write("scenarios/opening.yaml", SCENARIO)
    small.commit()
    small.write("prompts/greeting.md", "Say Karibu.\n")
    report.mkdir()
    tmp_path.chmod(0o755)
    for path in (folder, report):
        give(path)
    owner, passwd = folder.stat(), tmp_path / "passwd"
    passwd.write_text(f"ratiba:x:{owner.st_uid}:{owner.st_gid}::/home/ratiba:/usr/sbin/nologin\n")
    done = Confined(full, folder, report, passwd).run("gate", "--report-dir", REPORT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((report / "ratiba-report/results.json").read_text())["outputs"]["conclusion"] == "passed"
    for metric in ("ReplyLanguageMetric", "CodeSwitchMetric", "EmbeddingSimilarityMetric"):
        assert metric in done.stdout

    command = ["docker", "run", "--rm", *CONFINED, "--entrypoint", "/opt/ratiba/bin/python", full, "-c", SIGNING]
    signed = finished([*command, with_tokens_from("https://oauth2.example", service_account())])
    assert signed.returncode == 0, signed.stderr
    assert signed.stdout.startswith("AWS4-HMAC-SHA256 Credential=AKIAPLANTEDEXAMPLE/")
