"""What conversations are expected to cost, from their recordings or from usual sizes."""

from dataclasses import replace
from decimal import Decimal

from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording
from ratiba_action.model.conversation import Party, Usage
from ratiba_action.model.plan import Arm
from ratiba_action.model.scenario import Assertion, Scenario
from ratiba_action.money.budget import Ledger
from ratiba_action.money.forecast import UNKNOWN, Expected
from ratiba_action.money.prices import PriceList
from ratiba_action.money.pricing import ModelRates
from ratiba_action.run.estimating import ArmCosts
from ratiba_action.run.inputs import ArmInputs
from tests.support.sample_report import sample_scenario

SYSTEM = ModelRates(Decimal(2), Decimal(10), Decimal(2), Decimal(4))
JUDGE = ModelRates(Decimal(5), Decimal(25), Decimal(5), Decimal(10))
PRICES = PriceList({"our-model": SYSTEM, "our-judge": JUDGE})


def configuration(**system: object) -> Configuration:
    block = "".join(f", {name}: {value}" for name, value in system.items())
    text = f"system: {{adapter: 'a:A'{block}}}\njudge: {{model: our-judge, cross_check: null}}\n"
    return read_configuration("ratiba.yml", text.encode())


def answer(usage: dict[str, int]) -> ModelRecording:
    response = {"object": "chat.completion", "usage": usage}
    return ModelRecording("0" * 64, 0, "live", "openai", "our-model", "hello", "0" * 12, response)


def evaluated(
    configured: Configuration, *scenarios: Scenario, **recordings: tuple[ModelRecording, ...]
) -> tuple[Expected, ...]:
    """What each scenario's first trial is expected to cost."""
    arm = ArmInputs(Arm("head", "checkout"), configured, scenarios, recordings)
    return ArmCosts(PRICES).add(arm).expected(arm.plan.trials)


def judged(name: str) -> Scenario:
    return sample_scenario(name, assertions=(Assertion("SwahiliFluencyMetric", 0.8),))


def test_a_recorded_conversation_costs_what_its_answers_did() -> None:
    usage = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100}
    (spa,) = evaluated(configuration(), sample_scenario("spa"), spa=(answer(usage),))
    assert spa.by_party == {Party.SYSTEM: SYSTEM.price(Usage(1_000, 100)), Party.JUDGE: 0}


def test_an_answer_without_usable_usage_counts_as_a_usual_one_and_can_be_recorded_again() -> None:
    (spa,) = evaluated(configuration(), sample_scenario("spa"), spa=(answer({}),))
    assert spa.by_party[Party.SYSTEM] == SYSTEM.price(UNKNOWN)


def test_the_judge_is_distinguished_from_the_system() -> None:
    (spa,) = evaluated(configuration(), judged("spa"))
    assert spa.by_party == {Party.SYSTEM: 0, Party.JUDGE: JUDGE.price(UNKNOWN)}


def test_a_declared_price_counts_for_every_turn() -> None:
    (spa,) = evaluated(configuration(price_per_turn_usd=0.25), sample_scenario("spa"))
    assert spa.by_party[Party.SYSTEM] == Decimal("0.25")


def test_the_most_is_never_less_than_what_is_expected() -> None:
    both = evaluated(configuration(price_per_turn_usd=0.25), judged("spa"), judged("salon"), spa=(answer({}),))
    assert [one.scenario_id for one in both] == ["spa", "salon"]
    for one in both:
        assert one.maximum > one.cost


def test_a_metric_by_claim_is_bounded_by_the_sentences_that_were_recorded() -> None:
    scenario = sample_scenario("rag", assertions=(Assertion("FaithfulnessByClaimMetric", 0.8),))
    text = "We open at nine. I don't know the price. The pool is heated."
    response = {"object": "chat.completion", "usage": {}, "choices": [{"message": {"content": text}}]}
    recorded = replace(answer({}), response=response)
    (unknown,), (known,) = evaluated(configuration(), scenario), evaluated(configuration(), scenario, rag=(recorded,))
    assert known.by_party[Party.JUDGE] == 2 * JUDGE.price(UNKNOWN), "two sentences claim something"
    assert known.by_party[Party.JUDGE] < unknown.by_party[Party.JUDGE]


def recorded_score(score: float, ordinal: int = 0) -> JudgeRecording:
    usage = {"input_tokens": 1_000, "output_tokens": 100}
    metric = "swahili_fluency:1.0.0"
    return JudgeRecording("0" * 64, ordinal, "live", metric, "our-judge", "t", score, "fine", usage)


def test_votes_that_are_not_recorded_are_counted_near_the_threshold_only() -> None:
    arm = ArmInputs(Arm("head", "checkout"), configuration(), (judged("spa"),), {})
    one, costs = JUDGE.price(Usage(1_000, 100)), {}
    for name, lines in {
        "far": (recorded_score(0.95),),
        "near": (recorded_score(0.78),),
        "voted": tuple(recorded_score(0.78, ordinal) for ordinal in range(3)),
    }.items():
        known = ArmCosts(PRICES).add(replace(arm, recordings={"spa": lines}))
        costs[name] = known.expected(arm.plan.trials)[0].by_party[Party.JUDGE]
    assert costs == {"far": one, "near": 3 * one, "voted": 3 * one}
    (unknown,) = ArmCosts(PRICES).add(arm).expected(arm.plan.trials)
    assert unknown.cost == JUDGE.price(UNKNOWN)
    assert unknown.maximum > 3 * JUDGE.price(UNKNOWN), "any unknown score may be near its threshold"


def test_every_sample_of_a_score_is_counted_and_no_vote() -> None:
    given = configuration()
    sampled = given.model_copy(update={"judge": given.judge.model_copy(update={"samples": 3})})
    arm = ArmInputs(Arm("head", "checkout"), sampled, (judged("spa"),), {})
    one = JUDGE.price(Usage(1_000, 100))
    (unknown,) = ArmCosts(PRICES).add(arm).expected(arm.plan.trials)
    assert unknown.by_party[Party.JUDGE] == 3 * JUDGE.price(UNKNOWN)
    for recorded in (1, 3):
        lines = tuple(recorded_score(0.78, ordinal) for ordinal in range(recorded))
        known = ArmCosts(PRICES).add(replace(arm, recordings={"spa": lines}))
        assert known.expected(arm.plan.trials)[0].by_party[Party.JUDGE] == 3 * one, "what is not recorded is asked"


def after(ledger: Ledger, calls: int) -> None:
    """Let calls to both models be reserved at 6 cents and cost one."""
    for model in (*("our-judge",) * calls, *("our-model",) * calls):
        ledger.settle(ledger.reserve(Party.JUDGE, "other", model, Decimal("0.06")), Usage(), Decimal("0.01"))


def test_what_no_recording_tells_is_known_from_the_tenth_call_of_the_run() -> None:
    ledger, arm = Ledger(Decimal(20)), ArmInputs(Arm("head", "checkout"), configuration(), (judged("spa"),), {})
    costs = ArmCosts(PRICES, ledger.costs_of).add(arm)
    (usual,) = costs.expected(arm.plan.trials)
    after(ledger, 9)
    assert costs.expected(arm.plan.trials, learned=True) == (usual,)
    after(ledger, 1)
    (known,) = costs.expected(arm.plan.trials, learned=True)
    assert known.cost == Decimal("0.01")
    assert known.maximum == Decimal("0.08"), "a call of six cents at most, and two votes"
    assert costs.maximum(arm.plan.trials[0]) == known.maximum < usual.maximum
    assert costs.expected(arm.plan.trials) == (usual,), "what is run to its end all together needs room"


def test_a_recorded_call_costs_what_it_did_and_is_never_set_aside_at_more_than_the_dearest_of_the_run() -> None:
    lines = (answer({"prompt_tokens": 10_000, "completion_tokens": 100, "total_tokens": 10_100}),)
    ledger = Ledger(Decimal(20))
    arm = ArmInputs(Arm("head", "checkout"), configuration(), (sample_scenario("spa"),), {"spa": lines})
    costs = ArmCosts(PRICES, ledger.costs_of).add(arm)
    (before,) = costs.expected(arm.plan.trials)
    after(ledger, 10)
    (known,) = costs.expected(arm.plan.trials, learned=True)
    assert known.cost == before.cost == SYSTEM.price(Usage(10_000, 100))
    assert before.maximum > known.maximum == Decimal("0.06")
