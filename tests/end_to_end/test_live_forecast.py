"""What a live run is expected to cost is said before anything is paid, and what has no price is refused."""

from tests.support.live_repository import CONFIGURATION, SECOND_JUDGE, LiveRepository


async def recorded(live: LiveRepository, *names: str) -> None:
    """Record scenarios, so that what they cost is known, and forget what recording them cost."""
    for name in names:
        live.scenario(name, f"Hello from {name}")
    await live.record()
    live.models.bill.charges.clear()


async def test_a_dry_run_says_what_would_not_fit_and_asks_no_model(live: LiveRepository) -> None:
    await recorded(live, "first", "second", "third")
    ended = await live.gate("--dry-run", "--budget-usd", "0.0001")
    assert ended.code == 0, ended.printed
    lines = ended.printed.splitlines()
    shortage = lines.index(
        "The budget of this run (USD 0.0001) should cover 0 of 3 scenarios; it may not cover first, second, third."
    )
    assert lines[shortage - 1] == "Would run 3 scenarios with 3 turns."
    assert lines[shortage + 1].startswith("Expected to cost USD ")
    assert "(judge " in lines[shortage + 1]
    assert live.models.bill.charges == []


async def test_a_run_says_what_it_is_expected_to_cost_before_it_begins_and_is_about_right(live: LiveRepository) -> None:
    await recorded(live, "first", "second")
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    lines = ended.printed.splitlines()
    (expected,) = (number for number, line in enumerate(lines) if line.startswith("Expected to cost USD "))
    assert "all 2 scenarios are expected to fit" in lines[expected]
    assert expected < lines.index("0/2 scenarios")
    reported = float(lines[expected].split("USD ")[1].split(" ")[0])
    charged = float(sum(charge.usd for charge in live.models.bill.charges if charge.model != SECOND_JUDGE))
    assert reported == round(charged, 4 if reported < 0.01 else 2)


async def test_a_run_whose_budget_holds_not_everything_says_so_first_and_in_its_report(live: LiveRepository) -> None:
    await recorded(live, "first", "second")
    ended = await live.gate("--budget-usd", "0.0001")
    assert ended.code == 3, ended.printed
    text = "The budget of this run (USD 0.0001) should cover 0 of 2 scenarios; it may not cover first, second."
    assert ended.printed.splitlines()[2] == text
    assert f"- {text}" in ended.comment
    assert live.models.bill.charges == []


async def test_a_run_of_which_nothing_is_recorded_says_that_the_system_is_not_in_the_sum(live: LiveRepository) -> None:
    live.scenario("first", "Hello")
    ended = await live.gate("--dry-run")
    assert (
        "No recording says yet which models the system calls, so the cost of its own calls is not included."
        in ended.printed
    )


async def test_an_automatic_run_says_that_it_costs_nothing_while_recordings_fit(live: LiveRepository) -> None:
    await recorded(live, "first")
    live.git.commit({})
    ended = await live.gate("--dry-run", "--scenario", "first", RATIBA_LLM="auto")
    assert "Costs nothing while every recording fits; if models are called, expected to cost USD" in ended.printed
    assert live.models.bill.charges == []


async def test_every_model_without_a_price_is_named_before_the_first_call(live: LiveRepository) -> None:
    configuration = CONFIGURATION.replace("claude-opus-5-5", "our-judge").replace("gpt-5.6", "our-second-judge")
    live.small.write(".github/ratiba.yml", configuration.partition("prices:")[0])
    live.scenario("first", "Hello")
    for options in (("--dry-run",), ()):
        ended = await live.gate(*options)
        assert ended.code == 2, ended.printed
        assert "judge.model: No price is known for 'our-judge'." in ended.printed
        assert "judge.cross_check.model: No price is known for 'our-second-judge'." in ended.printed
    assert live.models.bill.charges == []
