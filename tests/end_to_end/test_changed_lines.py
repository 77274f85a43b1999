"""A changed line that no scenario runs qualifies a pass; the comment says which."""

import pytest

from tests.support.monitoring_python import monitoring_python, needs_monitoring
from tests.support.small_repository import SmallRepository

pytestmark = [pytest.mark.processes, needs_monitoring]

CONFIGURATION = f"""\
system: {{root: bot, adapter: "shop:answer", database: false, price_per_turn_usd: 0, python: {monitoring_python()}}}
"""
SHOP = """\
def answer(message):
    if message == "refund":
        return {"text": refund(), "state": "SAID"}
    return {"text": "Paid.", "state": "SAID"}


def refund():
    return "Yes."
"""


@pytest.fixture
def shop(small: SmallRepository) -> SmallRepository:
    small.write(".github/ratiba.yml", CONFIGURATION)
    small.write("bot/shop.py", SHOP)
    small.scenario("pays", "pay")
    small.commit()
    return small


def test_changed_lines_that_no_scenario_runs_are_named_and_the_run_passes(shop: SmallRepository) -> None:
    shop.write("bot/shop.py", SHOP.replace('"Yes."', '"No."').replace("Paid.", "Thanks."))
    ended = shop.gate("--mode", "blocking")
    assert ended.code == 0
    assert "> [!NOTE]" in ended.comment
    assert "**Keep in mind:** No scenario was seen to run 1 changed line: bot/shop.py:8. Add a" in ended.comment


def test_nothing_is_noted_where_scenarios_run_every_changed_line(shop: SmallRepository) -> None:
    shop.write("bot/shop.py", "# Our shop.\n" + SHOP.replace("Paid.", "Thanks."))
    ended = shop.gate("--mode", "blocking")
    assert ended.code == 0
    assert "was seen to run" not in ended.comment


def test_a_file_under_another_name_has_no_changed_lines(shop: SmallRepository) -> None:
    (shop.folder / "bot/shop.py").rename(shop.folder / "bot/counter.py")
    shop.write(".github/ratiba.yml", CONFIGURATION.replace("shop:answer", "counter:answer"))
    ended = shop.gate("--mode", "blocking")
    assert "was seen to run" not in ended.comment


def test_nor_where_a_scenario_is_added_that_does(shop: SmallRepository) -> None:
    shop.write("bot/shop.py", SHOP.replace('"Yes."', '"No."'))
    shop.scenario("refunds", "refund")
    ended = shop.gate("--mode", "blocking")
    assert ended.code == 0
    assert "was seen to run" not in ended.comment
