"""``ratiba view``: the pages of ``ratiba site`` on this machine, with the run that goes on."""

import argparse
import asyncio
import contextlib
import html
import json
import os
import select
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.commands.options import add_json, add_repo, parse_option, repository_of
from ratiba_action.errors import ConfigurationError, RatibaError, UsageError
from ratiba_action.settings.settings import INPUTS, Settings, read_settings
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.history.run_files import RunFiles
    from ratiba_action.publish.view.chat_channel import ChatChannel
    from ratiba_action.publish.view.live_run import EventTail
    from ratiba_action.publish.view.local_runs import LocalRuns
    from ratiba_action.publish.view.server import ViewAddress

DESCRIPTION = """Serve the pages of 'ratiba site' on this machine: the last run of this checkout, the runs that end
meanwhile, and the branch of runs where there is one. A page follows the run that goes on: progress, money, and
each conversation as it happens. Only 127.0.0.1 is served, and only to who has the address that is printed."""
EXAMPLE = """example:
  ratiba view
  ratiba view --port 8321 --no-open
  ratiba view --from downloaded-results
  ratiba view --chat --budget-usd 1
  ratiba gate --watch --view"""

_OF_CHAT = (
    ("scenario", "ID", "begin with customer, time and recorded answers of this scenario"),
    ("language", "CODE", "language of the conversation"),
    ("budget-usd", "VALUE", "maximum cost of the conversation (RATIBA_EVAL_BUDGET_USD; default: 20)"),
    ("mutants", "N", "after a scenario was saved, run at most N mutants"),
)
"""Options that are those of ``ratiba chat``."""
_MAX_PORT = 65_535
_LEADS_ON = """<!DOCTYPE html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={url}">
<title>Ratiba</title>
<a href="{url}">Runs</a>
"""
_START_SECONDS = 20.0
_END_SECONDS = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--port", default="0", metavar="N", help="port of 127.0.0.1 (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="print the address, and open no browser")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="SOURCE",
        help="earlier runs: a folder of results.json and results.json.gz files, or a branch that has them (default: "
        "the branch of 'history.branch', or else ratiba-history, if there is one)",
    )
    parser.add_argument(
        "--branch", default="", metavar="NAME", help="whose own runs trends are of (default: that with the most runs)"
    )
    for entry in INPUTS:
        if entry.name in {"report-dir", "config"}:
            parser.add_argument(f"--{entry.name}", metavar=entry.metavar, help=entry.option_help)
    add_repo(parser)
    add_json(parser, "print the address as JSON")
    chat = parser.add_argument_group("talk with the system")
    chat.add_argument(
        "--chat", action="store_true", help="also serve a page to talk with the system; see 'ratiba chat'"
    )
    for name, metavar, what in _OF_CHAT:
        chat.add_argument(f"--{name}", metavar=metavar, help=f"with --chat: {what}")


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Serve until a signal ends it.

    Raises:
        UsageError: the port or another option cannot be used.
        ConfigurationError: the history or the configuration cannot be read.
    """
    port = parse_option("--port", arguments.port, _port)
    settings = read_settings(environment, {"report-dir": arguments.report_dir, "config": arguments.config})
    root = repository_of(arguments, environment)
    report = Path(settings.report_dir)
    for option, folder, wrong in (
        ("--repo", root, not root.is_dir()),
        ("--report-dir", report, report.exists() and not report.is_dir()),
    ):
        if wrong:
            raise UsageError(f"{option} is {str(folder)!r}, which is no folder.", "Name a folder, or leave it out.")
    viewed = viewed_in(
        root,
        settings,
        environment,
        arguments.source,
        branch=arguments.branch,
        chat=arguments.chat,
        configured=bool(arguments.config),
    )

    given = {name: value for name, _, _ in _OF_CHAT if (value := getattr(arguments, name.replace("-", "_")))}
    if given and not arguments.chat:
        raise UsageError(f"--{next(iter(given))} is an option of the chat.", "Add --chat.")
    with _browser() as show:

        def announce(address: "ViewAddress") -> None:
            _print_address(address, viewed.runs.source, as_json=arguments.json)
            if not arguments.no_open:
                show(address)

        if arguments.chat:
            return _talk(arguments, environment, lambda channel: _chat_page(viewed, announce, port, channel))
        asyncio.run(_serve(viewed, announce, port=port))
    return 0


def _talk(
    arguments: argparse.Namespace,
    environment: MutableMapping[str, str],
    page: "Callable[[ChatChannel], AbstractAsyncContextManager[None]]",
) -> int:
    """Talk with the system by a page; ends when somebody says so there, or by a signal."""
    from ratiba_action.commands.chat import ChatOptions, talk
    from ratiba_action.commands.chat_terminal import Front
    from ratiba_action.publish.view.chat_channel import ChatChannel

    @asynccontextmanager
    async def front() -> AsyncIterator[Front]:
        channel = ChatChannel()
        async with page(channel):
            yield Front(channel, channel, as_json=True, echo=True)

    named = {name: getattr(arguments, name.replace("-", "_")) for name in ("report-dir", "config", "budget-usd")}
    options = ChatOptions(
        inputs={name: value for name, value in named.items() if value is not None},
        repo=arguments.repo,
        scenario=arguments.scenario,
        language=arguments.language,
        mutants=arguments.mutants,
    )
    return talk(options, environment, front=front)


@asynccontextmanager
async def _chat_page(
    viewed: "Viewed", announce: "Callable[[ViewAddress], None]", port: int, channel: "ChatChannel"
) -> AsyncIterator[None]:
    from ratiba_action.publish.view.server import serving

    async with serving(viewed.runs, viewed.tail, warn=_warn, port=port, page="chat.html", chat=channel) as opened:
        address, channel.tell = opened
        announce(address)
        yield


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > _MAX_PORT:
        raise ValueError(f"a number from 0 to {_MAX_PORT}; 0 is a free one")
    return int(text)


@dataclass(frozen=True)
class Viewed:
    """What the pages are made of."""

    runs: "LocalRuns"
    tail: "EventTail"


def viewed_in(
    root: Path,
    settings: Settings,
    environment: Mapping[str, str],
    source: str | None = None,
    *,
    branch: str = "",
    chat: bool = False,
    configured: bool = False,
) -> Viewed:
    """The runs of a checkout.

    Args:
        source: of earlier runs; None for the branch that the configuration names, or else the usual one.
        chat: whether there is a page to talk with the system.
        configured: the configuration was named, so that it has to be there.

    Raises:
        ConfigurationError: the source or the configuration cannot be read.
    """
    from ratiba_action.config.configuration import optional_configuration
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.publish.view.live_run import EventTail
    from ratiba_action.publish.view.local_runs import LocalRuns

    report = Path(settings.report_dir).absolute()  # of the folder that the gate is run in
    found = optional_configuration(root, settings.config, required=configured)
    folder = None if found is None else found.events.directory
    named = None if found is None else found.history.branch
    runs = LocalRuns(
        report,
        _history(root, environment, source, named),
        branch=branch,
        redactor=Redactor(settings.secrets),
        chat=chat,
    )
    return Viewed(runs, EventTail([report] if folder is None else [root / folder, report]))


def _history(root: Path, environment: Mapping[str, str], source: str | None, named: str | None) -> "RunFiles | None":
    from ratiba_action.commands.history_branch import open_git
    from ratiba_action.history.run_files import HISTORY_BRANCH, find_runs, runs_of_branch

    if source is not None:
        return find_runs(source, lambda: open_git(root, environment))
    try:
        return runs_of_branch(named or HISTORY_BRANCH, open_git(root, environment))
    except ConfigurationError:
        return None  # most clones have none


async def _serve(
    viewed: Viewed,
    announce: "Callable[[ViewAddress], None]",
    *,
    port: int = 0,
    page: str = "index.html",
    until: int = -1,
) -> None:
    """Serve until a signal comes, or until what is written to a pipe is closed.

    Args:
        until: descriptor of the pipe; -1 for none.
    """
    from ratiba_action.publish.view.server import serving
    from ratiba_action.run.plan_loop import cancelled_by_signals

    ended = asyncio.Event()
    if until >= 0:
        asyncio.get_running_loop().add_reader(until, ended.set)
    with cancelled_by_signals(lambda _: None), contextlib.suppress(asyncio.CancelledError):
        async with serving(viewed.runs, viewed.tail, warn=_warn, port=port, page=page) as (address, _):
            announce(address)
            await ended.wait()


def _warn(problem: str) -> None:
    sys.stderr.write(f"warning: {problem}\n")


def _print_address(address: "ViewAddress", source: str, *, as_json: bool) -> None:
    if as_json:
        shown = json.dumps({"url": address.url})
    else:
        shown = f"The runs of {source} are at:\n  {address.url}\nWhoever has the address can read them. Ctrl-C ends."
    sys.stdout.write(f"{shown}\n")
    sys.stdout.flush()


@contextmanager
def _browser() -> "Iterator[Callable[[ViewAddress], None]]":
    """Opens the first page in a browser, where a person may have one.

    Others on this machine can read a browser's command line, so it has only the path of a file that leads on to the
    address, in a folder that nobody else may enter. The folder stays as long as the context is open.
    """
    import webbrowser

    with ExitStack() as stack:

        def show(address: "ViewAddress") -> None:
            if not sys.stdout.isatty():
                return
            try:
                place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ratiba-view-")), "open.html")
                place.touch(mode=0o600)
                place.write_text(_LEADS_ON.format(url=html.escape(address.url)), encoding="utf-8")
            except OSError as error:
                _warn(f"No browser is opened: no temporary file can be written ({error.strerror}).")
                return
            threading.Thread(target=webbrowser.open, args=(place.as_uri(),), daemon=True).start()

        yield show


@contextmanager
def serving_beside(root: Path, settings: Settings, environment: Mapping[str, str]) -> Iterator[None]:
    """Serve in a process of its own as long as the context is open; what goes wrong is a warning.

    Whoever runs the gate forks for each run, and a process must not fork with a server's threads in it.
    """
    answers, tell = os.pipe()
    until, alive = os.pipe()
    try:
        child = os.fork()
    except OSError:  # too many processes: whoever reads no address hears why
        child = -1
    if not child:
        os.close(answers)
        os.close(alive)
        _be_beside(root, settings, environment, tell=tell, until=until)
    os.close(tell)
    os.close(until)
    try:
        sys.stdout.write(f"{_reported(answers)}\n")
        sys.stdout.flush()
        yield
    finally:
        os.close(alive)
        if child > 0:
            _reap(child)


def _reported(descriptor: int) -> str:
    """The one line that the other process has to say."""
    with os.fdopen(descriptor, encoding="utf-8") as stream:
        line = stream.readline().strip() if select.select([stream], [], [], _START_SECONDS)[0] else ""
    return line or "warning: The pages are not served. Run in another terminal: ratiba view"


def _reap(child: int) -> None:
    """Wait for the other process to end, and make it end where it does not."""
    for number in (0, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
        if _has_ended(child):
            return


def _has_ended(child: int) -> bool:
    timer = threading.Event()
    for _ in range(int(_END_SECONDS / 0.05)):
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        timer.wait(0.05)
    return False


def _be_beside(root: Path, settings: Settings, environment: Mapping[str, str], *, tell: int, until: int) -> None:
    from ratiba_action.util.interruption import Interruption

    code = 1
    try:
        Interruption().install()

        def say(line: str) -> None:
            with contextlib.suppress(OSError):
                os.write(tell, f"{line}\n".encode())

        try:
            with _browser() as show:

                def announce(address: "ViewAddress") -> None:
                    say(f"The run is shown at {address.url}")
                    show(address)

                asyncio.run(_serve(viewed_in(root, settings, environment), announce, page="live.html", until=until))
            code = 0
        except RatibaError as error:
            say(f"warning: The pages are not served: {' '.join(printable(str(error)).split())}")
    finally:
        os._exit(code)
