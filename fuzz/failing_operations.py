"""Gates of an honest regression in whose own process operations fail from some moment on: files, processes, sockets.

Whatever a hostile system starves the gate of arrives there as a failing operation, so every step of a run is tried.
"""

import errno
import json

from fuzz.case import Case
from fuzz.deprived import gate
from fuzz.regression import proposed, require_not_better
from tests.support.consumer_repository import ConsumerRepository

FILES = ("open", "os.mkdir", "os.chmod", "os.chown", "os.rename", "os.symlink", "os.link", "os.truncate", "os.remove",
         "os.rmdir", "tempfile.mkdtemp", "tempfile.mkstemp", "os.utime")  # fmt: skip
LISTS = ("os.listdir", "os.scandir", "open", "glob.glob", "os.walk")
PROCESSES = ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.kill", "os.killpg", "signal.pthread_kill")
SOCKETS = ("socket.__new__", "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.sendmsg")
GROUPS = (FILES, LISTS, PROCESSES, SOCKETS, (*FILES, *LISTS, *PROCESSES, *SOCKETS))
ERRORS = (errno.ENOSPC, errno.EMFILE, errno.EACCES, errno.EAGAIN, errno.ENOMEM, errno.EIO, errno.EDQUOT, errno.EPERM,
          errno.ENOENT, errno.EINTR, 0)  # fmt: skip
"""0 stands for no memory."""
FOREVER = 10**9
SCENARIO = """\
id: replayed_NUMBER
critical: true
language: en
metrics: {fluency: false}
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns:
  - user: A massage please
    expect: {answer: "Your massage is booked for tomorrow at two."}
assertions:
  - {metric: CharacterSimilarityMetric, threshold: 0.05}
"""
GOOD, POOR = '{"text": "Your massage is booked for tomorrow at two."}\n', '{"text": "Massage."}\n'


def starve_gate(case: Case) -> None:
    """A gate whose operations fail from one of them on, with workers or, mostly, without."""
    rng, workers = case.rng, case.chance(0.2)
    events, how = rng.choice(GROUPS), rng.choice(ERRORS)
    number = int(2 ** rng.uniform(0, 10.5 if workers else 9.5))
    maximum = rng.choice((1, 1, 3, 30, FOREVER, FOREVER))
    reported = case.folder / "told"
    fault = json.dumps({"events": events, "how": how, "number": number, "most": maximum, "told": str(reported)})
    shown = errno.errorcode.get(how, "MemoryError")
    case.note = f"{'workers' if workers else 'transcripts'}, {maximum} of {events[0]}… from {number}: {shown}"
    change = proposed(case, {}) if workers else transcripts(case)
    honest = (
        case.services.honest
        if workers
        else case.services.judged("transcripts", lambda inner: gate(inner, transcripts(inner)))
    )
    ended = gate(case, change, more={"FUZZ_FAULT": fault})
    failed = reported.read_text() if reported.exists() else ""
    case.count("gates whose operations fail", bool(failed))
    case.note += f", {failed}"
    require_not_better(case, honest, ended)


def transcripts(case: Case) -> ConsumerRepository:
    """The pull request of a regression whose replies were captured: no process of a system runs."""
    source = case.folder / "empty"
    source.mkdir()
    names = [f"replayed_{number}" for number in range(2)]
    base: dict[str, str | bytes | None] = {".github/ratiba.yml": "system:\n  replay: {transcripts: transcripts}\n"}
    base |= {f"scenarios/{name}.yaml": SCENARIO.replace("NUMBER", name[-1]) for name in names}
    base |= {f"transcripts/{name}.jsonl": GOOD for name in names}
    change = ConsumerRepository(source, case.folder / "checkout", base)
    change.propose({f"transcripts/{name}.jsonl": POOR for name in names})
    return change
