import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.plan import Arm
from ratiba_action.tenancy.no_database import NoDatabase

ARM = Arm("head", "/checkout")


async def test_each_conversation_has_a_name_of_its_own_and_nothing_behind_it() -> None:
    tenants = NoDatabase()
    await tenants.start()
    async with tenants.provision("spa", ARM) as first, tenants.provision("spa", ARM, 1) as second:
        assert first.id != second.id
        assert (first.schema, first.dsn) == ("", "")
        assert await tenants.read(first, {}) == {}
        with pytest.raises(ConfigurationError, match="no database to read bookings from"):
            await tenants.read(first, {"bookings": "SELECT 1"})
    await tenants.close()
    await tenants.close()


async def test_the_system_is_loaded_once_at_no_address() -> None:
    addresses: list[str] = []

    async def migrate(dsn: str) -> None:
        addresses.append(dsn)

    await NoDatabase().prepare(ARM, migrate)
    assert addresses == [""]
