"""A repository whose system under test looks for secrets."""

import os
import shutil
from pathlib import Path

import pytest

from tests.support.container_image import Confined
from tests.support.prison import IMAGE_USER, Prison, give
from tests.support.small_repository import CONFIGURATION, SmallRepository


@pytest.fixture
def prison(tmp_path: Path, image: str) -> Prison:
    """The probe's repository, owned by a user that the container knows."""
    folder, report = tmp_path / "repository", tmp_path / "report"
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("probe.py"), folder / "adapter.py")
    small = SmallRepository(folder, report, {"PATH": os.environ["PATH"]})
    small.write(".github/ratiba.yml", CONFIGURATION.format(timeout=90))
    small.scenario("greeting", "look")
    small.commit()
    (report / "step").mkdir(parents=True)
    for name in ("output", "summary"):
        (report / "step" / name).touch()
    give(report)
    tmp_path.chmod(0o755)
    owner = folder.stat()
    if os.geteuid() == 0 or owner.st_uid == IMAGE_USER:
        return Prison(Confined(image, folder, report))
    passwd = tmp_path / "passwd"
    passwd.write_text(f"ratiba:x:{owner.st_uid}:{owner.st_gid}::/home/ratiba:/usr/sbin/nologin\n")
    return Prison(Confined(image, folder, report, passwd))
