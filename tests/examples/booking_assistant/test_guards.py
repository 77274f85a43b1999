"""Every guard of the assistant that protects money, time, privacy or another customer, removed one at a time.

Each removal is an edit as a person makes it by mistake. The scenario that is there for the guard is replayed without
it, and its assertion must fail. All of them run in one session of the gate, except removals in the schema, which is
made once a run: those, and three of recorded scenarios, run whole gates, which must fail with exit code 1 and name the
assertion in the comment. What is not in the list, and why:

- ``read_callback``, ``receive_callback`` and ``take_slot_elsewhere`` refuse a malformed event by raising, so that no
  conversation goes on; ``test_rails.py`` and ``test_payments.py`` call them.
- ``TenantScopedSaver`` and ``TENANT``: each scenario has a tenant of its own; ``test_tenants.py`` crosses them.
- ``FOR UPDATE`` in ``settle`` matters to two callbacks at the same moment; a scenario delivers one after the other.
- ``request_payment`` compares the amount with the booking's price, which its only caller reads from that booking;
  ``cancel_booking``, ``reschedule_booking`` and ``reverse_payment`` name the status that they start from. These are
  second locks behind guards of this list; ``test_payments.py`` and ``test_booking_flow.py`` call the tools alone.
- Alternatives that ``check_availability`` offers are checked again when the customer picks one.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from ratiba_action.commands.gate_options import GateOptions
from ratiba_action.commands.gate_request import run_request
from ratiba_action.decide.deciding import decide
from ratiba_action.model.measurement import Errored, NotRun
from ratiba_action.model.plan import HEAD, Arm
from ratiba_action.model.scenario import Scenario
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arms import alone, head_inputs
from ratiba_action.run.composition import open_session
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.inputs import ArmInputs, RunLog, SilentProgress
from ratiba_action.run.session import RunSession
from ratiba_action.settings.settings import read_settings
from ratiba_action.systems.worker_system import WorkerSystem
from tests.support.booking_example import copy_booking_example
from tests.support.gate_forks import GateForks
from tests.support.git_repository import GitRepository
from tests.support.small_repository import Ended

PROJECT = Path(__file__).parents[3]
CODE, MIGRATION = "booking_assistant", "migrations/versions/0001_booking_tables.py"
PAYMENTS, SETTLEMENT = f"{CODE}/payment_actions.py", f"{CODE}/settlement.py"
BOOKINGS, AVAILABILITY = f"{CODE}/booking_actions.py", f"{CODE}/tools/check_availability.py"
FLOW, TURN, GRAPH = f"{CODE}/fsm.py", f"{CODE}/turn.py", f"{CODE}/graph.py"
CLASSIFYING, REPLYING = f"{CODE}/understanding.py", f"{CODE}/responding.py"

Replay = Callable[..., Ended]
"""Runs the gate in replay."""


@dataclass(frozen=True)
class Guard:
    """A guard, and what is left when somebody removes it.

    Args:
        name: what it protects.
        file: below the example's folder.
        code: of the guard, as it stands there.
        without: what stands there then.
        scenario: that fails without it.
        assertion: that the comment names.
    """

    name: str
    file: str
    code: str
    without: str
    scenario: str
    assertion: str


GUARDS = (
    Guard(
        "another amount than was asked is no payment",
        SETTLEMENT,
        "    if callback.amount_kes != asked_kes:\n        return Outcome.WRONG_AMOUNT\n",
        "",
        "guard_payment_amount",
        "payment after the turn",
    ),
    Guard(
        "a person looks at another amount",
        PAYMENTS,
        '    Outcome.WRONG_AMOUNT: "a payment arrived with another amount than was asked",\n',
        "",
        "guard_payment_amount",
        "state after the turn",
    ),
    Guard(
        "a receipt pays once",
        SETTLEMENT,
        "        if outcome is Outcome.PAID and await _is_used(connection, callback.receipt):\n"
        "            outcome = Outcome.UNEXPECTED_CHARGE\n",
        "",
        "guard_payment_receipt_reused",
        "tool calls of the turn",
    ),
    Guard(
        "a repeated callback changes nothing",
        SETTLEMENT,
        "        if duplicate and outcome is not Outcome.CHARGED_AFTER_CANCELLATION:\n"
        "            return Settlement(Outcome.DUPLICATE, before)\n",
        "",
        "guard_payment_callback_repeated",
        "tool calls of the turn",
    ),
    Guard(
        "a repeated callback is known by its row",
        SETTLEMENT,
        "await connection.execute(insert, (*row, True))\n        return False",
        "await connection.execute(insert, (*row, True))\n        return True",
        "guard_payment_callback_repeated",
        "tool calls of the turn",
    ),
    Guard(
        "only a pending payment is cancelled",
        SETTLEMENT,
        " AND status = 'PENDING' RETURNING id",
        " RETURNING id",
        "guard_payment_stays_paid",
        "payment after the turn",
    ),
    Guard(
        "what is paid does not fail afterwards",
        SETTLEMENT,
        "        if before is not PaymentState.PENDING:\n            return Outcome.TOO_LATE\n",
        "",
        "guard_payment_stays_paid",
        "payment after the turn",
    ),
    Guard(
        "a second charge is not passed over",
        SETTLEMENT,
        "    return Outcome.UNEXPECTED_CHARGE\n\n\nasync",
        "    return Outcome.TOO_LATE\n\n\nasync",
        "guard_payment_second_charge",
        "rows of handoffs",
    ),
    Guard(
        "a person looks at a second charge",
        PAYMENTS,
        '    Outcome.UNEXPECTED_CHARGE: "a charge arrived that nobody asked for",\n',
        "",
        "guard_payment_second_charge",
        "rows of handoffs",
    ),
    Guard(
        "more than was asked is no payment",
        SETTLEMENT,
        "callback.amount_kes != asked_kes",
        "callback.amount_kes < asked_kes",
        "guard_payment_amount",
        "payment after the turn",
    ),
    Guard(
        "another customer's payment is not cancelled",
        SETTLEMENT,
        " WHERE id = %s AND status = 'PENDING' RETURNING id\",\n        (payment_id,),",
        " WHERE status = 'PENDING' RETURNING id\",\n        (),",
        "guard_payment_of_another_customer",
        "rows of payments",
    ),
    Guard(
        "another customer's payment is not settled",
        SETTLEMENT,
        ' WHERE id = %s",\n            (after, callback.receipt if keeps_receipt else None, payment["id"]),',
        '",\n            (after, callback.receipt if keeps_receipt else None),',
        "guard_payment_of_another_customer",
        "rows of payments",
    ),
    Guard(
        "another rail settles nothing",
        SETTLEMENT,
        'WHERE id = %s AND rail = %s FOR UPDATE",\n            (payment_id, callback.rail),',
        'WHERE id = %s FOR UPDATE",\n            (payment_id,),',
        "guard_payment_of_another_rail",
        "payment after the turn",
    ),
    Guard(
        "money without a payment settles nothing",
        SETTLEMENT,
        "        if payment is None:\n            return Settlement(Outcome.UNKNOWN_PAYMENT, PaymentState.NONE)\n",
        "",
        "guard_payment_of_another_rail",
        "state after the turn",
    ),
    Guard(
        "money for a cancelled payment goes back",
        PAYMENTS,
        '        await turn.toolbox.call("reverse_payment", payment_id=(turn.memory["payment"] or {})["id"])\n'
        "        turn.set_payment_status(PaymentState.REVERSED, receipt)\n"
        '        turn.facts["outcome"] = "payment_reversed"\n',
        "        pass\n",
        "guard_payment_reversed_once",
        "tool calls of the turn",
    ),
    Guard(
        "the receipt of what went back is kept",
        SETTLEMENT,
        "keeps_receipt = outcome in {Outcome.PAID, Outcome.CHARGED_AFTER_CANCELLATION}",
        "keeps_receipt = outcome is Outcome.PAID",
        "guard_payment_reversed_once",
        "rows of payments",
    ),
    Guard(
        "another phone is asked only once it is confirmed",
        PAYMENTS,
        '    elif phone == own or (proposed and proposed["phone"] == phone):\n'
        "        await _request(turn, rail, phone)\n"
        "    else:\n"
        '        turn.memory["proposed"] = {"phone": phone, "rail": rail}\n'
        '        turn.facts.update(outcome="phone_to_confirm", phone=mask_phone(phone))\n',
        "    else:\n        await _request(turn, rail, phone)\n",
        "guard_other_phone",
        "tool calls of the turn",
    ),
    Guard(
        "what is no phone number is not asked",
        PAYMENTS,
        '    if phone is None:\n        turn.facts["outcome"] = "phone_not_valid"\n    elif',
        "    if",
        "guard_other_phone",
        "tool calls of the turn",
    ),
    Guard(
        "a yes to another number confirms nothing",
        PAYMENTS,
        '    if heard.phone and normalise_phone(heard.phone) != proposed["phone"]:\n'
        "        await pay(turn, heard)\n        return\n",
        "",
        "guard_other_phone",
        "tool calls of the turn",
    ),
    Guard(
        "a number lapses",
        f"{CODE}/actions.py",
        '    turn.memory["proposed"] = None  # a number lapses unless the very next message confirms it\n',
        "",
        "guard_other_phone",
        "tool calls of the turn",
    ),
    Guard(
        "without a number there is nothing to confirm",
        PAYMENTS,
        '    if proposed is None:\n        turn.facts["outcome"] = "nothing_to_confirm"\n        return\n',
        "",
        "guard_other_phone",
        "tool calls of the turn",
    ),
    Guard(
        "the booking's price is asked",
        PAYMENTS,
        '    amount = booking["price_kes"]\n',
        '    amount = booking["price_kes"] // 10\n',
        "guard_payment_amount",
        "tool calls of the turn",
    ),
    Guard(
        "a booking has the price list's price",
        f"{CODE}/tools/create_booking.py",
        'offer["price_kes"], desk.customer.phone',
        "1, desk.customer.phone",
        "guard_time",
        "rows of bookings",
    ),
    Guard(
        "a booking is its customer's",
        f"{CODE}/tools/create_booking.py",
        "desk.customer.phone)",
        '"+254700000000")',
        "guard_other_phone",
        "rows of bookings",
    ),
    Guard(
        "a booking has one live payment",
        MIGRATION,
        '    "CREATE UNIQUE INDEX payments_one_live_per_booking ON payments (booking_id)'
        " WHERE status IN ('PENDING', 'PAID')\",\n",
        "",
        "guard_paid_booking",
        "rows of payments",
    ),
    Guard(
        "a person decides about a paid booking",
        BOOKINGS,
        '    if payment_status(turn.memory) == "PAID":\n'
        '        turn.facts["outcome"] = "handed_off"\n'
        '        await turn.hand_off("the customer cancels a paid booking")\n'
        "        return\n",
        "",
        "guard_paid_booking",
        "tool calls of the turn",
    ),
    Guard(
        "an open payment is not asked for again",
        FLOW,
        "State.AWAITING_PAYMENT: {Intent",
        "State.AWAITING_PAYMENT: {Intent.PAY: Action.PAY, Intent",
        "guard_payment_pending_is_left_alone",
        "tool calls of the turn",
    ),
    Guard(
        "a booking with an open payment is not moved",
        FLOW,
        "State.AWAITING_PAYMENT: {Intent",
        "State.AWAITING_PAYMENT: {Intent.RESCHEDULE: Action.OFFER_CHANGE, Intent",
        "guard_payment_pending_is_left_alone",
        "tool calls of the turn",
    ),
    Guard(
        "a booking with an open payment is not cancelled",
        FLOW,
        "State.AWAITING_PAYMENT: {Intent",
        "State.AWAITING_PAYMENT: {Intent.CANCEL_BOOKING: Action.CANCEL_BOOKING, Intent",
        "guard_payment_pending_is_left_alone",
        "tool calls of the turn",
    ),
    Guard(
        "opening hours",
        AVAILABILITY,
        "    if begin.time() < OPENS or end > datetime.combine(begin.date(), CLOSES, begin.tzinfo):\n"
        '        return "closed"\n',
        "",
        "guard_time",
        "state after the turn",
    ),
    Guard(
        "a change that is declined is not made",
        FLOW,
        "Action.DROP_CHANGE,",
        "Action.APPLY_CHANGE,",
        "guard_time",
        "tool calls of the turn",
    ),
    Guard(
        "not at once",
        AVAILABILITY,
        "begin <= desk.clock.now()",
        "begin < desk.clock.now()",
        "guard_time",
        "state after the turn",
    ),
    Guard(
        "not before opening",
        AVAILABILITY,
        "begin.time() < OPENS or ",
        "",
        "guard_time",
        "state after the turn",
    ),
    Guard(
        "not beyond closing",
        AVAILABILITY,
        " or end > datetime.combine(begin.date(), CLOSES, begin.tzinfo)",
        "",
        "guard_time",
        "state after the turn",
    ),
    Guard(
        "not in the past",
        AVAILABILITY,
        '    if begin <= desk.clock.now():\n        return "past"\n',
        "",
        "guard_time",
        "state after the turn",
    ),
    Guard(
        "a slot that is not free is not offered",
        BOOKINGS,
        '    if not slot["free"]:',
        "    if False:",
        "guard_time",
        "state after the turn",
    ),
    Guard(
        "a change to a slot that is not free is not offered",
        BOOKINGS,
        '    if not found["free"]:',
        "    if False:",
        "guard_time",
        "state after the turn",
    ),
    Guard(
        "a yes books only what was offered",
        FLOW,
        "State.COLLECTING: {**_BOOKING, Intent",
        "State.COLLECTING: {**_BOOKING, Intent.CONFIRM: Action.CREATE_BOOKING, Intent",
        "guard_time",
        "tool calls of the turn",
    ),
    Guard(
        "times are the business's",
        f"{CODE}/clock.py",
        "replace(tzinfo=TIMEZONE)",
        'replace(tzinfo=ZoneInfo("UTC"))',
        "guard_time",
        "rows of bookings",
    ),
    Guard(
        "a taken slot is not offered",
        AVAILABILITY,
        'return "taken" if await _is_taken(desk.connection, offer["resource_id"], begin, end) else None',
        "return None",
        "guard_slot_of_another_customer",
        "state after the turn",
    ),
    Guard(
        "two bookings never overlap",
        MIGRATION,
        "end_at > start_at),\n        CONSTRAINT bookings_no_overlap EXCLUDE USING gist (\n"
        "            int4range(resource_id, resource_id, '[]') WITH &&,\n"
        "            tstzrange(start_at, end_at) WITH &&\n        ) WHERE (status = 'confirmed')\n",
        "end_at > start_at)\n",
        "guard_slot_of_another_customer",
        "state after the turn",
    ),
    Guard(
        "a slot that was taken meanwhile is told",
        f"{CODE}/tools/create_booking.py",
        "    except psycopg.errors.ExclusionViolation:",
        "    except psycopg.errors.UndefinedTable:",
        "guard_slot_of_another_customer",
        "tool calls of the turn",
    ),
    Guard(
        "a change to a slot that was taken meanwhile is told",
        f"{CODE}/tools/reschedule_booking.py",
        "    except psycopg.errors.ExclusionViolation:",
        "    except psycopg.errors.UndefinedTable:",
        "guard_slot_of_another_customer",
        "tool calls of the turn",
    ),
    Guard(
        "after a hand-off a person speaks",
        GRAPH,
        'return "stay_polite" if memory["state"] == State.HANDED_OFF else "understand"',
        'return "understand"',
        "guard_handed_off",
        "state after the turn",
    ),
    Guard(
        "a mixed conversation is answered in Swahili once a person has it",
        REPLYING,
        '_COURTESY["en" if language == "en" else "sw"]',
        '_COURTESY.get(language, _COURTESY["en"])',
        "guard_handed_off",
        "contains",
    ),
    Guard(
        "after a hand-off an event is settled in silence",
        GRAPH,
        'return END if memory["state"] == State.HANDED_OFF and not handed_off_now else "respond"',
        'return "respond"',
        "guard_handed_off",
        "payment after the turn",
    ),
    Guard(
        "a hand-off stays one",
        TURN,
        "        if before is State.HANDED_OFF or before is target:",
        "        if before is target:",
        "guard_handed_off",
        "state after the turn",
    ),
    Guard(
        "a hand-off is written down",
        f"{CODE}/tools/hand_off.py",
        "    row = await fetch_required(\n"
        "        desk.connection,\n"
        '        "INSERT INTO handoffs (reason, briefing) VALUES (%s, %s) RETURNING id",\n'
        "        (reason, Jsonb(card.to_json())),\n"
        "    )\n"
        '    return {"handoff_id": row["id"]}',
        '    return {"handoff_id": 1}',
        "spa_complaint_handoff_swahili",
        "rows of handoffs",
    ),
    *(
        Guard(
            f"the briefing card tells a colleague what there is to know ({scenario})",
            f"{CODE}/handoff.py",
            '        summary=f"{name}: {reason} ({about}; {paying})",\n'
            '        state=memory["state"],\n'
            "        booking=booking,\n"
            "        payment=payment,\n"
            "        last_messages=history[-_LAST_MESSAGES:],",
            '        summary="", state="", booking=None, payment=None, last_messages=[],',
            scenario,
            "rows of handoffs",
        )
        for scenario in ("spa_complaint_handoff_swahili", "salon_ask_human_english", "guard_handed_off")
    ),
    Guard(
        "a number to confirm is masked where the reply is written",
        PAYMENTS,
        "phone=mask_phone(phone)",
        "phone=phone",
        "guard_other_phone",
        "must_not_send_to_model",
    ),
    Guard(
        "a number to confirm is masked where the answer to it is read",
        CLASSIFYING,
        'proposed and mask_phone(proposed["phone"])',
        'proposed and proposed["phone"]',
        "guard_other_phone",
        "must_not_send_to_model",
    ),
    Guard(
        "the number of a tool's call is masked",
        REPLYING,
        '        args["phone"] = mask_phone(args["phone"])\n',
        "        pass\n",
        "guard_other_phone",
        "must_not_send_to_model",
    ),
    Guard(
        "the number of a payment is masked",
        REPLYING,
        'mask_phone(payment["phone"])',
        'payment["phone"]',
        "guard_other_phone",
        "must_not_send_to_model",
    ),
    Guard(
        "the customer's own number is masked as another's is",
        REPLYING,
        'mask_phone(payment["phone"])',
        'payment["phone"]',
        "guard_handed_off",
        "must_not_send_to_model",
    ),
    Guard(
        "the classifier is sent no number of a payment",
        CLASSIFYING,
        'payment and {"rail": payment["rail"], "status": payment["status"]}',
        "payment",
        "guard_handed_off",
        "must_not_send_to_model",
    ),
    Guard(
        "the briefing card is for the colleague, not for a model",
        REPLYING,
        ' if name != "briefing"',
        "",
        "guard_handed_off",
        "must_not_send_to_model",
    ),
    Guard(
        "what masks a number masks it",
        f"{CODE}/phone_number.py",
        'return f"…{phone[-3:]}"',
        "return phone",
        "guard_other_phone",
        "must_not_send_to_model",
    ),
    Guard(
        "a turn is saved in the tenant's schema",
        f"{CODE}/ratiba_adapter.py",
        "build_graph(assistant, saver)",
        'build_graph(assistant, __import__("langgraph.checkpoint.memory").checkpoint.memory.InMemorySaver())',
        "spa_turn_is_saved_swahili",
        "rows of the query",
    ),
    Guard(
        "a payment that is told as paid is stored as paid",
        SETTLEMENT,
        "coalesce(%s, receipt) WHERE id = %s",
        "coalesce(%s, receipt) WHERE id = %s AND false",
        "spa_replay_mpesa_swahili",
        "rows of payments",
    ),
    Guard(
        "a change moves a booking and adds none",
        f"{CODE}/tools/reschedule_booking.py",
        "UPDATE bookings SET start_at = %s, end_at = %s + (end_at - start_at)",
        "INSERT INTO bookings (service, resource_id, start_at, end_at, status, price_kes, customer_phone)"
        " SELECT service, resource_id, %s, %s + (end_at - start_at), status, price_kes, customer_phone FROM bookings",
        "production_bmcjfmchmcpc",
        "rows of bookings",
    ),
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the example, its scenarios and recordings, committed to main."""
    folder = tmp_path_factory.mktemp("guards") / "repository"
    copy(folder)
    GitRepository(folder, os.environ["PATH"]).commit({})
    return folder


def copy(folder: Path) -> None:
    """Copy the example, its scenarios and recordings."""
    copy_booking_example(folder)
    # Which line makes the gate fail is checked by other tests, and found by running the scenario several times more.
    with (folder / ".github/ratiba.yml").open("a", encoding="utf-8") as configuration:
        configuration.write("attribution: {enabled: false}\n")


@pytest.fixture(scope="module")
def environment(embedded_server_dsn: str) -> dict[str, str]:
    """Of every gate."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return environment | {"RATIBA_DATABASE_URL": embedded_server_dsn, "NO_COLOR": "1"}


def command(report: Path, scenarios: Collection[str], mode: str = "blocking", **options: str) -> list[str]:
    """The command line that replays scenarios into a report folder."""
    words = ["gate", "--mode", mode, "--llm", "replay", "--report-dir", str(report)]
    words += [word for scenario in scenarios for word in ("--scenario", scenario)]
    return words + [word for name, value in options.items() for word in (f"--{name}", value)]


@dataclass
class Unguarded:
    """Runs one scenario after another on the example, each without a guard, in one session of the gate."""

    head: ArmInputs
    root: Path
    failed: dict[str, list[str]] = field(default_factory=dict)
    """The assertions that do not hold, by guard; of the code as it is by scenario."""

    async def run(self, session: RunSession) -> None:
        system = session.services.arms[HEAD].system
        assert isinstance(system, WorkerSystem)
        for scenario in self.head.scenarios:
            self.failed[scenario.id] = await self._failed(session, scenario)
        for number, guard in enumerate(guard for guard in GUARDS if guard.file != MIGRATION):
            text = (self.root / guard.file).read_text()
            system.replace_file(guard.file, without(guard, text), 2 * number)
            (scenario,) = (one for one in self.head.scenarios if one.id == guard.scenario)
            self.failed[guard.name] = await self._failed(session, scenario)
            system.replace_file(guard.file, text, 2 * number + 1)

    async def _failed(self, session: RunSession, scenario: Scenario) -> list[str]:
        arm = Arm(f"unguarded-{len(self.failed)}", self.head.arm.root, self.head.arm.commit)
        one = replace(self.head, arm=arm, scenarios=(scenario,), free=frozenset({scenario.id}))
        session.services.arms.add(one)
        (result,) = await session.run(one.plan)
        session.services.arms.remove(arm.name)
        assert not isinstance(result, NotRun), result
        suspected = result.suspected if isinstance(result, Errored) else ()  # each holds with every guard
        return [check.what for check in (*result.checks, *suspected) if not check.passed]


@pytest.fixture(scope="module")
def failed(base: Path, tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> dict[str, list[str]]:
    """What does not hold without each guard; no run starts a gate of its own, which would cost ten times as much."""
    named = tuple(sorted({guard.scenario for guard in GUARDS}))
    settings = read_settings(environment | {"RATIBA_LLM": "replay"}, {})
    options = GateOptions(repo=str(base), scenarios=named, judge_cache=False)
    inputs = read_inputs(run_request(options, environment, settings, decide))
    inputs = alone(inputs, [replace(scenario, assertions=()) for scenario in inputs.selection.scenarios])  # no judge
    head, scratch = head_inputs(inputs), tmp_path_factory.mktemp("scratch")
    unguarded = Unguarded(head, base / "examples" / "booking_assistant")
    log, ledger = RunLog(SilentProgress()), Ledger(settings.budget_usd)
    open_session(inputs, head, ledger=ledger, log=log, scratch=scratch).conduct(unguarded.run)
    return unguarded.failed


@pytest.fixture
def replay(base: Path, tmp_path: Path, forks: GateForks, environment: dict[str, str]) -> Replay:
    """Replays scenarios on the work tree, compared with its last commit, in blocking mode."""

    def run(*scenarios: str, repository: Path = base, **options: str) -> Ended:
        report = tmp_path / "report"
        done = forks.run(command(report, scenarios, **options), repository, environment)
        return Ended(done.returncode, done.stdout + done.stderr, report)

    return run


@pytest.mark.parametrize("guard", [one for one in GUARDS if one.file != MIGRATION], ids=lambda guard: guard.name)
def test_without_a_guard_an_assertion_of_its_scenario_fails(guard: Guard, failed: dict[str, list[str]]) -> None:
    assert guard.assertion in " | ".join(failed[guard.name])


def test_with_every_guard_the_scenarios_pass(failed: dict[str, list[str]]) -> None:
    assert not [scenario for scenario in {guard.scenario for guard in GUARDS} if failed[scenario]]


@pytest.mark.parametrize("guard", [one for one in GUARDS if one.file == MIGRATION], ids=lambda guard: guard.name)
def test_without_a_guard_of_the_schema_the_gate_fails_and_names_the_assertion(
    guard: Guard, base: Path, replay: Replay
) -> None:
    with removed(guard, base):
        ended = replay(guard.scenario)
    assert ended.code == 1, ended.printed
    assert f"**`{guard.scenario}`**" in ended.comment
    assert guard.assertion in failing_part(ended.comment), ended.comment


@pytest.mark.parametrize(
    ("name", "scenario"),
    [
        ("money for a cancelled payment goes back", "spa_payment_cancelled_reversed_swahili"),
        ("a repeated callback changes nothing", "barbershop_double_callback_mixed"),
        ("another phone is asked only once it is confirmed", "spa_other_phone_confirmed_mixed"),
    ],
)
def test_a_recorded_scenario_fails_too_though_its_recording_no_longer_fits(
    name: str, scenario: str, base: Path, replay: Replay
) -> None:
    (guard,) = (one for one in GUARDS if one.name == name)
    with removed(guard, base):
        ended = replay(scenario)
    assert ended.code == 1, ended.printed
    assert "tool calls of the turn" in failing_part(ended.comment)
    assert "Recorded answers to earlier requests were used" in ended.comment
    assert "The base passes these assertions" in ended.comment


def test_an_advisory_run_leaves_out_what_is_recorded_and_no_longer_fits(tmp_path: Path, replay: Replay) -> None:
    few = tmp_path / "repository"
    copy(few)
    for path in (few / "scenarios").rglob("*.yaml"):
        if path.stem not in {"barbershop_double_callback_mixed", "barbershop_haircut_english_happy"}:
            path.unlink()
    for path in (few / "scenarios/recordings").glob("*.jsonl"):  # without what they read, which would make it blocking
        lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if '"kind":"reads"' not in line), "utf-8")
    GitRepository(few, os.environ["PATH"]).commit({})
    weekday = '        "weekday": weekday(clock.now()),\n'
    reported = Guard("", f"{CODE}/responding.py", weekday, f'{weekday}        "greeting": "",\n', "", "")
    with removed(reported, few):
        ended = replay(mode="advisory", repository=few)
    assert (ended.code, ended.outputs["conclusion"]) == (0, "incomplete"), "the smoke scenario no longer fits either"
    left = "1 scenario was not run, since the recordings no longer fit: barbershop_double_callback_mixed."
    assert left in ended.comment
    assert ended.results["report"]["left_out"] == ["barbershop_double_callback_mixed"]
    assert "Kevo" not in ended.comment, "the customer of a scenario that is left out"


def test_an_edited_prompt_alone_fails_nothing(base: Path, replay: Replay) -> None:
    prompt = Guard("", "prompts/booking_orchestrator.md", "warm, short, direct", "warm, brief, direct", "", "")
    with removed(prompt, base):
        ended = replay("spa_mpesa_swahili_paid")
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed


@contextlib.contextmanager
def removed(guard: Guard, repository: Path) -> Iterator[None]:
    """The work tree without a guard, as long as the block lasts."""
    path = repository / "examples" / "booking_assistant" / guard.file
    before = path.read_text()
    path.write_text(without(guard, before))
    try:
        yield
    finally:
        path.write_text(before)


def without(guard: Guard, text: str) -> str:
    """A file without a guard."""
    assert text.count(guard.code) == 1, "the guard is no longer where this test looks for it"
    return text.replace(guard.code, guard.without)


def failing_part(comment: str) -> str:
    """The tables of failing scenarios, with the question left out that a turn's row quotes."""
    return comment.partition("### Failing")[2].partition("\n### ")[0].replace(" after “", " after the turn “")
