"""What is typed in ``ratiba chat``, and what is shown of it: lines in, lines out."""

import asyncio
import contextlib
import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from ratiba_action.authoring.chat import About, Chat, SavedScenario, message_of
from ratiba_action.authoring.chat_conversation import Heard
from ratiba_action.authoring.chat_expectations import Offer, chosen_by
from ratiba_action.errors import RatibaError, UsageError
from ratiba_action.model.conversation import ToolCall
from ratiba_action.model.scenario import Turn
from ratiba_action.model.values import Usd
from ratiba_action.privacy.masking import Redactor
from ratiba_action.util.text import clip, cut_before, did_you_mean, plural, printable_lines

HELP = """\
Write what the customer says. Commands:
  /event JSON         deliver an event: /event {"type": "payment_succeeded", "amount": 2500}
  /undo               take the last turn back: a new tenant, the turns before it with their recorded answers
  /new                begin again without any turn
  /as NAME PHONE      the customer of a conversation that has not begun
  /now TIME           its clock: /now 2026-04-25T10:00:00+03:00
  /base               say the same to the base, and show both side by side
  /judge METRIC       the score of a metric for the conversation so far
  /expect             list what can be asserted of the last turn
  /expect 1 3         assert these; all and none are words for it
  /expect contains TEXT, /expect not_contains TEXT
                      assert that the reply contains a text, or that it does not
  /save ID            prove the scenario, then write it with its recording; with FILE or FILE:LINE of the
                      system: show by mutants of it which faults the scenario catches
  /label good NAME    add the conversation to the calibration set with this label, or with bad; NAME: by whom
  /help               this list
  /quit               end; so do Ctrl-D and Ctrl-C
"""
_BYTES = 65_536
_MAX_LINE = 20_000
_SHOWN_ROWS = 5
_SHOWN_REPLY = 20_000
"""Characters of a reply on a terminal; as JSON, all of it is shown."""
_LABELS = ("good", "bad")
_ALONE = frozenset({"undo", "new", "base", "help"})
"""Commands without a value."""
_WIDTH = 160


class TextOutput(Protocol):
    """Where text goes."""

    def write(self, text: str, /) -> int:
        """Write a text."""
        ...

    def flush(self) -> None:
        """Show what was written."""
        ...


class LineReader(Protocol):
    """Where lines come from."""

    async def next(self) -> str | None:
        """The next line without its end; None at the end of the input.

        Bytes that are not UTF-8 are surrogates in it, as Python's ``surrogateescape`` has them.
        """
        ...


class StandardInput:
    """Implements ``LineReader`` on standard input; each line is waited for in a thread, so that a signal ends the chat.

    Args:
        prompt: shown on a terminal.
    """

    def __init__(self, prompt: str) -> None:
        self._prompt, self._rest, self._ended = prompt, b"", False
        self._read = self._from_terminal if sys.stdin.isatty() and sys.stdout.isatty() else self._from_pipe

    async def next(self) -> str | None:
        """See ``LineReader``."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[str | None] = loop.create_future()

        def deliver(line: str | None) -> None:
            if not arrived.done():
                arrived.set_result(line)

        def wait() -> None:
            line = self._read()
            with contextlib.suppress(RuntimeError):  # the chat has ended meanwhile
                loop.call_soon_threadsafe(deliver, line)

        threading.Thread(target=wait, name="ratiba-chat-input", daemon=True).start()
        return await arrived

    def _from_terminal(self) -> str | None:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - input() has arrow keys and a history then
        try:
            return input(self._prompt)
        except UnicodeDecodeError as error:
            return error.object.decode("utf-8", "surrogateescape")
        except (EOFError, OSError):
            return None

    def _from_pipe(self) -> str | None:
        # Not sys.stdin: a thread that waits in its buffer would keep Python from ending.
        while b"\n" not in self._rest and not self._ended:
            try:
                read = os.read(0, _BYTES)
            except OSError:
                read = b""
            self._rest, self._ended = self._rest + read, not read
        line, found, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "surrogateescape").removesuffix("\r") if line or found else None


@contextlib.contextmanager
def terminal_as_it_was() -> Iterator[None]:
    """Put the terminal's modes back at the end: a signal may come while a line is edited."""
    try:
        import termios

        before = termios.tcgetattr(0)
    except (ImportError, OSError, termios.error):
        yield
        return
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@dataclass
class Screen:
    """Shows what happens: text for people, or one JSON object a line.

    Args:
        redactor: hides secrets. What identifies a person was masked before it was sent.
        columns: of what is shown side by side.
    """

    stream: TextOutput
    redactor: Redactor
    as_json: bool = False
    columns: int = _WIDTH

    def show(self, kind: str, data: Mapping[str, Any], text: str) -> None:
        """Show something that happened.

        Args:
            data: for JSON.
            text: for people; whatever in it could be obeyed by a terminal is escaped.
        """
        if self.as_json:
            hidden = self._hidden({"kind": kind, **data})
            line = json.dumps(hidden, ensure_ascii=True, default=str)
        else:
            line = printable_lines(self.redactor.secretless(text))
        self.stream.write(f"{line}\n")
        self.stream.flush()

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redactor.secretless(value)
        if isinstance(value, Mapping):
            return {self._hidden(str(name)): self._hidden(part) for name, part in value.items()}
        return [self._hidden(part) for part in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Money:
    """What the chat may spend.

    Args:
        spent: so far, of all parties.
    """

    spent: Callable[[], Usd]
    cap: Usd

    def __str__(self) -> str:
        return f"USD {self.spent():.4f} of {self.cap:.2f} spent"


@dataclass(frozen=True)
class Front:
    """Who talks: a person at a terminal, a pipe, or a page.

    Args:
        as_json: one JSON object for each thing that happens, instead of text.
        columns: of what is shown side by side.
        echo: show each line that was read.
    """

    lines: LineReader
    stream: TextOutput
    as_json: bool = False
    columns: int = _WIDTH
    echo: bool = False


WriteScenario = Callable[[SavedScenario], Sequence[str]]
"""Writes a scenario and its recording, both or none; returns their paths."""
KeepLabel = Callable[[Chat, bool, str], str]
"""Adds the conversation to the calibration set with a label, good or bad, by somebody; returns its id there."""
ShowMutants = Callable[[str, str], Awaitable[Sequence[str]]]
"""Which faults of the system the scenario of an id catches, in words.

The second text is a file of the system, or a file with a line; it is empty for its prompts and all of its code.
"""
CheckPlace = Callable[[str], None]
"""Raises ``UsageError`` where no mutants can be made of a file of the system, or of a file with a line."""


@dataclass
class ChatTerminal:
    """Reads lines until the input ends, and does what they say.

    Args:
        show_mutants: None where no system can be mutated.
        keep_label: None where there is no calibration set to keep it in.
        echo: show each line that was read: nobody sees what comes by a pipe.
    """

    chat: Chat
    lines: LineReader
    screen: Screen
    money: Money
    write: WriteScenario
    show_mutants: ShowMutants | None = None
    keep_label: KeepLabel | None = None
    check_place: CheckPlace = lambda _place: None
    echo: bool = False
    failures: int = 0
    _saved: bool = field(default=True, init=False)
    _offers: tuple[Offer, ...] = field(default=(), init=False)

    async def run(self) -> None:
        """Read and do, to the end of the input; what goes wrong with one line is shown, and the next is read."""
        try:
            while (line := await self.lines.next()) is not None and line.strip() not in {"/quit", "/exit"}:
                if line.strip():
                    await self._answer(line.strip())
        finally:  # a signal ends it, too
            self._farewell()

    async def _answer(self, line: str) -> None:
        if self.echo:
            self._echo(line)
        await self._attempt(self._do(line))

    def _echo(self, line: str) -> None:
        self.screen.show("line", {"line": line}, f"> {_indented(line, 2)}")

    async def _attempt(self, doing: Awaitable[None]) -> bool:
        """Wait for something; what goes wrong with it is shown."""
        try:
            await doing
        except RatibaError as error:
            self.failures += 1
            self.screen.show("error", {"problem": error.problem, "remedy": error.remedy}, _fact("error", str(error)))
            return False
        return True

    async def repeat(self, production: Iterable[tuple[Turn, str]]) -> None:
        """Take the turns of a conversation of production, up to one that does not come to its end.

        Args:
            production: each turn with the reply to it; not masked.
        """
        for turn, reply in production:
            theirs = self.chat.masked(reply)
            if turn.user is not None:
                self._echo(self.chat.masked(turn.user))
                taken = self._turn(partial(self.chat.say, turn.user), theirs)
            else:
                event = self.chat.masked_event(turn.event or {})
                self._echo(f"/event {_json(event)}")
                taken = self._turn(partial(self.chat.send_event, event), theirs)
            if not await self._attempt(taken):
                break

    def _farewell(self) -> None:
        if self.chat.turns and not self._saved:
            self.screen.show("end", {"saved": False}, "\nNot saved. To write a scenario, end with: /save ID")

    async def _do(self, line: str) -> None:
        if any("\ud800" <= letter <= "\udfff" for letter in line):
            raise UsageError("The line is not UTF-8, so nothing was sent.", "Set the terminal, or the file, to UTF-8.")
        if len(line) > _MAX_LINE:
            raise UsageError(f"The line has {len(line):,} characters, and {_MAX_LINE:,} are allowed.", "Shorten it.")
        if not line.startswith("/"):
            await self._say(line)
            return
        name, _, rest = line[1:].partition(" ")
        command = self._commands().get(name)
        if command is None:
            likely = did_you_mean(f"/{name}", [f"/{known}" for known in self._commands()])
            raise UsageError(
                f"There is no command {f'/{name}'!r}{f'; {likely}' if likely else '.'}", "List them: /help"
            )
        if name in _ALONE and rest.strip():
            raise UsageError(f"/{name} takes no value, and has {rest.strip()!r:.80}.", f"Write: /{name}")
        await command(rest.strip())

    def _commands(self) -> Mapping[str, Callable[[str], Awaitable[None]]]:
        return {
            "event": self._event,
            "undo": self._undo,
            "new": self._new,
            "as": self._as,
            "now": self._now,
            "base": self._base,
            "judge": self._judge,
            "expect": self._expect,
            "save": self._save,
            **({"label": self._label} if self.keep_label is not None else {}),
            "help": self._help,
        }

    async def _say(self, text: str) -> None:
        sent = self.chat.masked(text)
        if sent != text:
            self.screen.show("masked", {"sent": sent}, f"  masked    sent as: {sent}")
        await self._turn(partial(self.chat.say, text))

    async def _event(self, rest: str) -> None:
        if not rest:
            raise UsageError("/event needs an event.", 'Write: /event {"type": "paid"}')
        try:
            event = json.loads(rest)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"The event is not JSON: {error}.", 'Write: /event {"type": "paid"}') from error
        if not isinstance(event, dict):
            raise UsageError(f"The event {rest!r:.80} is no JSON object.", 'Write: /event {"type": "paid"}')
        sent = self.chat.masked_event(event)
        if sent != event:
            self.screen.show("masked", {"sent": sent}, f"  masked    sent as: {_json(sent)}")
        await self._turn(partial(self.chat.send_event, event))

    async def _turn(self, take: Callable[[], Awaitable[Heard]], production: str | None = None) -> None:
        self._offers = ()
        before = self.money.spent()
        try:
            heard = await take()
        except RatibaError:
            kept = plural(len(self.chat.turns), "turn")
            self.screen.show(
                "taken_back", {"turns": len(self.chat.turns)}, f"  taken back; the conversation has {kept}"
            )
            raise
        self._saved = False
        paid = self.money.spent() - before
        text = "\n".join(_shown(heard, paid, self.money))
        if production is not None:
            text += f"\n  production  {_indented(production, 14)}"
        beside = {} if production is None else {"production": production}
        costs = {"paid_usd": str(paid), "spent_usd": str(self.money.spent()), "cap_usd": str(self.money.cap)}
        self.screen.show("turn", {**_turn_data(heard), **beside, **costs}, text)

    async def _undo(self, _rest: str) -> None:
        self._offers = ()
        before = self.money.spent()
        await self.chat.undo()
        paid, kept = self.money.spent() - before, plural(len(self.chat.turns), "turn")
        text = f"  taken back; the conversation has {kept} in a new tenant, repeated for USD {paid:.4f}"
        self.screen.show("undone", {"turns": len(self.chat.turns), "paid_usd": str(paid)}, text)

    async def _new(self, _rest: str) -> None:
        self._offers = ()
        await self.chat.begin_again()
        self.screen.show("new", {}, "  a new conversation; nothing has been said")

    async def _as(self, rest: str) -> None:
        words = rest.split()
        at = next((number for number, word in enumerate(words) if word[0] in "+0123456789"), 0)
        if not at:
            given = f"{rest!r} is no name with a phone number" if rest else "/as needs a name and a phone number"
            raise UsageError(f"{given}.", "Write: /as Wanjiku +254 700 000 101")
        customer = {"name": " ".join(words[:at]), "phone": " ".join(words[at:])}
        await self._about(replace(self.chat.about, customer=customer))

    async def _now(self, rest: str) -> None:
        if not rest:
            raise UsageError("/now needs a time.", "Write: /now 2026-04-25T10:00:00+03:00")
        await self._about(replace(self.chat.about, now=rest))

    async def _about(self, about: About) -> None:
        if self.chat.turns:
            raise UsageError(
                "The conversation has begun, and the system knows its customer and its clock.", "Begin again: /new"
            )
        await self.chat.begin_again(about)
        self.screen.show("about", {"now": about.now, "customer": dict(about.customer)}, about_line(about))

    async def _base(self, _rest: str) -> None:
        before = self.money.spent()
        heard, error = await self.chat.base()
        paid = self.money.spent() - before
        ours = [turn.heard for turn in self.chat.turns]
        theirs = [{**_turn_data(other), "same": _is_same(own, other)} for own, other in zip(ours, heard, strict=False)]
        text = [_side_by_side(ours, heard, self.screen.columns)]
        if error is not None:
            text.append(f"  the base ended in turn {len(heard) + 1}: {_indented(str(error), 12)}")
        text.append(f"  paid      USD {paid:.4f} for the base; {self.money}")
        problem = None if error is None else str(error)
        self.screen.show("base", {"turns": theirs, "error": problem, "paid_usd": str(paid)}, "\n".join(text))

    async def _judge(self, rest: str) -> None:
        if not rest:
            raise UsageError("/judge needs a metric.", "Write: /judge SwahiliFluencyMetric")
        before = self.money.spent()
        score = await self.chat.judge(rest)
        paid = self.money.spent() - before
        data = {"metric": score.metric, "value": score.value, "reason": score.reason, "paid_usd": str(paid)}
        reason = f": {clip(score.reason, 400)}" if score.reason else ""
        text = f"  {score.metric} {score.value:.2f}{reason}\n  paid      USD {paid:.4f}; {self.money}"
        self.screen.show("score", data, text)

    async def _expect(self, rest: str) -> None:
        kind, _, text = rest.partition(" ")
        if kind in {"contains", "not_contains"}:
            self.chat.expect_text(kind, text.strip().strip("\"'"))
        elif rest == "none":
            self.chat.expect_nothing()
        else:
            self._offers = self._offers or await self.chat.offers()
            if rest:
                self.chat.expect(chosen_by(rest, self._offers))
        self._saved = False
        self._show_offers(listed=not rest)

    def _show_offers(self, *, listed: bool) -> None:
        chosen = self.chat.turns[-1].chosen if self.chat.turns else ()
        lines = []
        if listed:
            lines += [
                f"  {number:>3} {'[x]' if offer in chosen else '[ ]'} {_indented(offer.shown, 10)}"
                for number, offer in enumerate(self._offers, 1)
            ]
            why = self.chat.why_not_repeated
            lines += [f"  Seen once only: {why}. A value of chance among these would fail later."] if why else []
            lines += ["  Choose with: /expect 1 3, or /expect contains TEXT"]
        extra = [offer for offer in chosen if not listed or offer not in self._offers]
        lines += [f"      [x] {_indented(offer.shown, 10)}" for offer in extra]
        if not listed and not chosen:
            lines.append("  nothing is asserted of this turn")
        offers = [{"number": number, "shown": offer.shown} for number, offer in enumerate(self._offers, 1)]
        data = {"offers": offers if listed else [], "chosen": [offer.shown for offer in chosen]}
        self.screen.show("expect", data, "\n".join(lines))

    async def _save(self, rest: str) -> None:
        scenario_id, _, place = rest.partition(" ")
        if not scenario_id:
            raise UsageError("/save needs an id.", "Write: /save books_a_massage")
        place = place.strip()
        if place:
            self.check_place(place)
        saved = await self.chat.save(scenario_id)
        paths = self.write(saved)
        self._saved = True
        text = [f"  passed    {plural(saved.assertions, 'deterministic assertion')}, with the recorded answers"]
        text += [f"  Written: {path}" for path in paths]
        self.screen.show(
            "saved", {"id": saved.id, "written": list(paths), "assertions": saved.assertions}, "\n".join(text)
        )
        if self.show_mutants is not None:
            self.screen.show("mutating", {"id": saved.id}, "  Faults are put into a copy of the system …")
            found = await self.show_mutants(saved.id, place)
            self.screen.show("mutants", {"lines": list(found)}, "\n".join(f"  {line}" for line in found))

    async def _label(self, rest: str) -> None:
        word, _, by = rest.partition(" ")
        if word not in _LABELS:
            raise UsageError(f"{word!r} is not one of good, bad.", "Write: /label good")
        if not self.chat.turns:
            raise UsageError("There is nothing to label yet.", "Say something first.")
        assert self.keep_label is not None  # noqa: S101 - without it there is no such command
        name = self.keep_label(self.chat, word == "good", by.strip())
        text = f"  labelled  {name} as {word} in the calibration set; the judges score it with: ratiba calibrate run"
        self.screen.show("labelled", {"id": name, "label": word}, text)

    async def _help(self, _rest: str) -> None:
        self.screen.show("help", {"text": HELP}, HELP.rstrip())


def about_line(about: About) -> str:
    """The customer and the clock, in words."""
    return f"  customer {about.customer['name']}, {about.customer['phone']}; now {about.now}; language {about.language}"


def _shown(heard: Heard, paid: Usd, money: Money) -> Iterator[str]:
    """A turn in lines: the reply, then what else was seen."""
    reply, exchange = heard.exchange.reply, heard.exchange
    yield f"system> {_reply(reply.text) if reply.text else '(an empty reply)'}"
    yield from (_fact(name, text) for name, text in _seen(heard))
    yield f"  cost      USD {paid:.4f} paid{_calls(heard)}, {exchange.seconds:.1f} s; {money}"


def _seen(heard: Heard) -> Iterator[tuple[str, str]]:
    """What a turn shows beside its reply, by name."""
    reply, before = heard.exchange.reply, heard.state_before
    if reply.state is not None:
        yield "state", reply.state if before in {None, reply.state} else f"{before} → {reply.state}"
    if reply.payment is not None:
        yield "payment", reply.payment
    yield from (("tool", _call(call)) for call in reply.tool_calls)
    yield from (("event", f"{event.type} {_json(event.data)}") for event in reply.events)
    yield from (("document", f"{each.id} {clip(each.text, 80)}".rstrip()) for each in reply.documents)
    if reply.output is not None:
        yield "output", _json(reply.output)
    yield from (("rows", row) for row in _rows(heard))


def _rows(heard: Heard) -> Iterator[str]:
    for change in heard.rows:
        for sign, rows in (("-", change.removed), ("+", change.added)):
            yield from (f"{change.table} {sign} {_json(row)}" for row in rows[:_SHOWN_ROWS])
            if len(rows) > _SHOWN_ROWS:
                yield f"{change.table} {sign} {len(rows) - _SHOWN_ROWS} more"


def _calls(heard: Heard) -> str:
    exchange = heard.exchange
    if not exchange.calls:
        return ", no model call"
    worth = "" if exchange.usd is None or not exchange.replayed else f", which would cost USD {exchange.usd:.4f}"
    return f", {plural(exchange.calls, 'model call')}{f' (recorded{worth})' if exchange.replayed else ''}"


def _reply(text: str) -> str:
    """As much of a reply as a person reads; cut where no half of a secret is left."""
    if len(text) <= _SHOWN_REPLY:
        return _indented(text, 8)
    shown = text[: cut_before(text, _SHOWN_REPLY)]
    return f"{_indented(shown, 8)} … ({len(text) - len(shown):,} more characters)"


def _fact(name: str, text: str) -> str:
    """What was seen beside the reply: none of its lines stands where a person types."""
    return f"  {name:<9} {_indented(text, 12)}"


def _indented(text: str, width: int) -> str:
    return f"\n{' ' * width}".join(text.splitlines())


def _call(call: ToolCall) -> str:
    arguments = ", ".join(f"{name}={_json(value)}" for name, value in call.args.items())
    return f"{call.name}({arguments})" + ("" if call.output is None else f" → {_json(call.output)}")


def _json(value: Any) -> str:
    return clip(json.dumps(value, ensure_ascii=False, default=str), 300)


def _turn_data(heard: Heard) -> dict[str, Any]:
    exchange, reply = heard.exchange, heard.exchange.reply
    return {
        **message_of(exchange.turn),
        "reply": reply.text,
        "state": reply.state,
        "state_before": heard.state_before,
        "payment": reply.payment,
        "tools": [{"name": call.name, "args": call.args, "output": call.output} for call in reply.tool_calls],
        "events": [{"type": event.type, "data": event.data} for event in reply.events],
        "documents": [document.id for document in reply.documents],
        "output": reply.output,
        "rows": [
            {"table": change.table, "added": list(change.added), "removed": list(change.removed)}
            for change in heard.rows
        ],
        "seconds": round(exchange.seconds, 3),
        "model_calls": exchange.calls,
        "recorded": exchange.replayed,
    }


def _side_by_side(ours: Sequence[Heard], theirs: Sequence[Heard], columns: int) -> str:
    """Both conversations in two columns, as plain text."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_lines=True)
    for heading in ("", "this checkout", "base"):
        table.add_column(heading, overflow="fold", ratio=None if not heading else 1)
    for number, own in enumerate(ours, 1):
        other = theirs[number - 1] if number <= len(theirs) else None
        cells = [_cell(own), "(did not answer)" if other is None else _cell(other)]
        same = "=" if other is not None and _is_same(own, other) else "≠"
        table.add_row(Text(f"{number} {same}"), *(Text(printable_lines(cell)) for cell in cells))
    text = StringIO()
    Console(file=text, width=columns, markup=False, emoji=False, highlight=False, color_system=None).print(table)
    return text.getvalue().rstrip("\n")


def _is_same(own: Heard, other: Heard) -> bool:
    """Whether nothing differs, what is cut where it is shown among it."""
    return (own.exchange.reply, own.state_before, own.rows) == (other.exchange.reply, other.state_before, other.rows)


def _cell(heard: Heard) -> str:
    return "\n".join([heard.exchange.reply.text, *(" ".join(fact) for fact in _seen(heard))])
