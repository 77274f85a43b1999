"""A system under test, and what it says, that tries to give commands to the runner by the gate's log."""

import re

from tests.support.runner_log import obeyed

COMMANDS = (
    "##[set-output name=conclusion;]planted",
    "x ##[add-path]/planted",
    "::error::planted",
    "\t ::set-output name=conclusion::planted",
    "progress\r::set-env name=PATH::/planted",
    "\ufeff::stop-commands::planted",
)
"""Lines that a runner obeys."""

_OWN = re.compile(r"::(group|endgroup|add-mask|(error|warning|notice) (file|title)=|stop-commands::[0-9a-f]{32}$)")

_ATTACK = '''

import socket
from urllib.parse import urlsplit

COMMANDS = {commands!r}


def _attack_gateway(self, _argument):
    """Requests that are none: their first line, a header and the path hold the commands."""
    place = urlsplit(os.environ["OPENAI_BASE_URL"])
    answers = []
    for command in COMMANDS:
        line = command.encode()
        header = b"POST /v1/x HTTP/1.1\\r\\n" + line + b": \\x00"
        for request in (line, b"GET /" + line + b" HTTP/9", header, b"\\x00" + line):
            with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
                connection.sendall(request + b"\\r\\n" + line + b"\\r\\n\\r\\n")
                answers.append(connection.recv(12))
    return {{"text": str(len(answers)), "state": "SAID"}}


def _attack_streams(self, _argument):
    for command in COMMANDS:
        for number in (1, 2):
            os.write(number, f"{{command}}\\n".encode())
        sys.stdout.write(command)
        os.system(f"printf '%s\\\\n' '{{command}}' >&2")
    return self._say("printed")


def _attack_crash(self, _argument):
    os.write(2, COMMANDS[0].encode())
    os.abort()


def _attack_error(self, number):
    raise RuntimeError(COMMANDS[int(number)])


def _attack_answer(self, number):
    said = COMMANDS[int(number)]
    return {{"text": said, "state": said, "tool_calls": [{{"name": said, "args": {{said: said}}}}]}}


for _name in ("gateway", "streams", "crash", "error", "answer"):
    setattr(Conversation, f"_{{_name}}", globals()[f"_attack_{{_name}}"])
'''


def hostile_adapter(adapter: str) -> str:
    """The small system's adapter, which attacks where the customer says ``gateway``, ``streams`` or the like."""
    return adapter + _ATTACK.format(commands=COMMANDS)


def planted(*streams: str) -> list[str]:
    """Lines that the runner obeys in any of the streams, but for commands as the gate and its action give them."""
    found = [one for text in streams for one in obeyed(text.encode("utf-8", "replace"))]
    return [one.line for one in found if not _OWN.match(one.line)]
