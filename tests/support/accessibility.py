"""axe-core, which finds what keeps people from reading a page: fetched once for tests, and no part of the product.

It is under the Mozilla Public License 2.0, so no file of it stands in this repository (decision 0138).
"""

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.browser import Page

PACKAGE = "axe-core@4.14.1"
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
"""Of the package, as the npm registry states it."""
KEPT = Path(__file__).parents[2] / ".pytest_cache/axe-core"


def axe_core(kept: Path = KEPT) -> str:
    """The script, fetched by npm unless it is kept already; skips the test without npm or a network.

    Args:
        kept: folder that the package is kept in.
    """
    archive = kept / f"{PACKAGE.replace('@', '-')}.tgz"
    if not archive.exists():
        if shutil.which("npm") is None:
            pytest.skip("npm is not on PATH, and fetches axe-core")
        kept.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", "--ignore-scripts", f"--pack-destination={kept}", PACKAGE]
        if subprocess.run(command, capture_output=True, check=False, timeout=120).returncode:
            pytest.skip(f"npm cannot fetch {PACKAGE}")
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    assert found == SHA512, f"{archive} is not {PACKAGE}"
    with tarfile.open(archive) as package:
        script = package.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


def violations(page: Page, script: str, without: Sequence[str] = ()) -> list[str]:
    """What axe-core finds on a page as it is shown, each with the first element that it is about.

    Args:
        script: axe-core.
        without: selectors of what is not looked at.
    """
    page.evaluate(f"if (!window.axe) {{ {script} }} true")
    context = json.dumps({"exclude": [[selector] for selector in without]}) if without else "document"
    found = page.evaluate(
        f"axe.run({context}, {{resultTypes: ['violations']}}).then((found) => JSON.stringify(found.violations.map("
        "(each) => `${each.id}: ${each.nodes[0].html.slice(0, 200)} ${each.nodes[0].failureSummary}`)))"
    )
    listed: list[str] = json.loads(found)
    return listed
