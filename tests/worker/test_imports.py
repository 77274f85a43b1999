"""Known libraries are found in the source of an adapter and imported once; the repository's own modules never are."""

import os
import ssl
import subprocess
import sys
from pathlib import Path

import certifi
import pytest

from ratiba_action.worker.imports import KNOWN, LATER, import_known, known_imports, make_contexts, may_be_asynchronous


def _write(root: Path, **modules: str) -> str:
    for name, source in modules.items():
        file = root / f"{name.replace('__in__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return str(root)


def test_imports_are_followed_through_the_repositorys_own_modules(tmp_path: Path) -> None:
    root = _write(
        tmp_path,
        adapter="from shop.flow import graph\nimport json",
        shop__in____init__="import pydantic",
        shop__in__flow="from . import tools\nfrom .tools import send\nfrom langgraph.graph import END",
        shop__in__tools="try:\n    import openai\nexcept ImportError:\n    openai = None",
    )
    assert known_imports(["adapter"], root) == [
        "pydantic",
        "langgraph.graph",
        "langgraph.graph.END",
        "openai",
        *LATER["langgraph"],
        *LATER["openai"],
    ]


@pytest.mark.parametrize(
    "source",
    [
        "def later():\n    import openai",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import openai",
        "import unheard_of_library",
        "import openai_like",
        "import openai\n)",
        "\0",
        "(" * 100_000,
    ],
)
def test_nothing_is_found(tmp_path: Path, source: str) -> None:
    assert known_imports(["adapter"], _write(tmp_path, adapter=source)) == []


def test_modules_that_import_each_other_or_are_missing_end_the_search(tmp_path: Path) -> None:
    root = _write(
        tmp_path, adapter="import flow\nfrom ..... import above", flow="import adapter, missing\nimport httpx"
    )
    assert known_imports(["adapter", "nowhere.at.all", ""], root) == ["httpx", *LATER["httpx"]]


def test_what_a_library_imports_later_is_left_alone_where_the_repository_has_a_module_of_that_name(
    tmp_path: Path,
) -> None:
    root = _write(tmp_path, adapter="import httpx", anyio="raise SystemExit('code of the repository ran')")
    assert known_imports(["adapter"], root) == ["httpx", "httpcore"]


FIRST_CALL = """
import asyncio, importlib, sys
library, *later = sys.argv[1:]
loaded = importlib.import_module(library)
for name in later:
    importlib.import_module(name)
before = set(sys.modules)
at = {"base_url": "http://127.0.0.1:1"}
async def call():
    if library == "httpx":
        await loaded.AsyncClient(**at).get("/")
    elif library == "openai":
        client = loaded.AsyncOpenAI(api_key="none", max_retries=0, **at)
        await client.chat.completions.create(model="m", messages=[])
    else:
        client = loaded.AsyncAnthropic(api_key="none", max_retries=0, **at)
        await client.messages.create(model="m", max_tokens=1, messages=[])
try:
    asyncio.run(call())
except (loaded.ConnectError if library == "httpx" else loaded.APIConnectionError):
    print("called", *sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


@pytest.mark.parametrize("library", ["openai", "anthropic", "httpx"])
def test_at_its_first_call_a_library_imports_little_that_is_not_known(library: str) -> None:
    words = [sys.executable, "-c", FIRST_CALL, library, *LATER[library]]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    # What loads the propagators of OpenTelemetry reads a variable at its import, which a conversation may set.
    assert {"called"} <= set(found) <= {"called", "concurrent", "opentelemetry"}


PREPARED = """
import sys
from ratiba_action.worker.imports import import_known
import_known({"adapter": "adapter:Adapter"}, sys.argv[1])
import httpcore2, httpx2, ssl
import anthropic.types, openai.types.chat
import openai._utils._transform as requests
print(requests.get_type_hints.cache_info().currsize > 10, "opentelemetry.propagate" in sys.modules)
print(anthropic.types.Message.__pydantic_complete__, openai.types.chat.ChatCompletion.__pydantic_complete__)
loaded, load = [], ssl.SSLContext.load_verify_locations
ssl.SSLContext.load_verify_locations = lambda *places: loaded.append(places) or load(*places)
clients = [anthropic.AsyncAnthropic(api_key="none"), openai.OpenAI(api_key="none")]
print(len(loaded))
more = [httpx2.create_ssl_context() for _ in range(2)]
print(len(loaded), len({id(each) for each in more}))
"""


def test_clients_find_the_types_of_requests_the_models_of_answers_and_certificates_loaded(tmp_path: Path) -> None:
    root = _write(tmp_path, adapter="import anthropic, openai")
    environment = {**os.environ, "SSL_CERT_FILE": certifi.where()}
    words = [sys.executable, "-c", PREPARED, root]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "True", "True", "0", "2", "2"]


class Http:
    """What is asked for a TLS context."""

    def __init__(self) -> None:
        self.asked: list[dict[str, bool]] = []

    def default_ssl_context(self, **options: bool) -> object:
        self.asked.append(options)
        return object()


def test_each_client_gets_a_context_of_its_own() -> None:
    http = Http()
    make_contexts(http, 2)
    assert http.asked == [{}, {}]
    given = [http.default_ssl_context(_trust_env=True), http.default_ssl_context(), http.default_ssl_context()]
    assert len({id(context) for context in given}) == 3
    assert http.asked == [{}, {}, {}]


def test_a_client_with_other_certificates_gets_another_context(monkeypatch: pytest.MonkeyPatch) -> None:
    http = Http()
    make_contexts(http, 1)
    http.default_ssl_context(_trust_env=False)
    monkeypatch.setenv("SSL_CERT_FILE", "/certificates/of/the/system.pem")
    http.default_ssl_context(_trust_env=True)
    assert http.asked[1:] == [{"_trust_env": False}, {"_trust_env": True}]


def test_certificates_that_were_edited_meanwhile_are_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "system.pem").write_text("one")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))
    http = Http()
    make_contexts(http, 2)
    http.default_ssl_context()
    assert http.asked == [{}, {}]
    (tmp_path / "system.pem").write_text("one and another")
    http.default_ssl_context()
    assert http.asked == [{}, {}, {}]


@pytest.mark.parametrize("name", ["SSLContext", "create_default_context"])
def test_a_system_that_changes_how_contexts_are_made_gets_what_it_makes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = Http()
    make_contexts(http, 1)
    monkeypatch.setattr(ssl, name, object())
    http.default_ssl_context()
    assert http.asked == [{}, {}]


def test_a_module_of_the_repository_with_a_librarys_name_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _write(tmp_path, adapter="import yaml", yaml="raise SystemExit('code of the repository ran')")
    monkeypatch.syspath_prepend(root)
    monkeypatch.delitem(sys.modules, "yaml", raising=False)
    import_known({"adapter": "adapter:Adapter"}, root)
    assert "yaml" not in sys.modules
    assert "adapter" not in sys.modules


def test_a_module_of_the_repository_is_not_asked_for_tls_contexts(tmp_path: Path) -> None:
    root = _write(tmp_path, adapter="import openai", httpcore2="print('code of the repository ran')")
    script = "\n".join([*PREPARED.splitlines()[:4], "print('openai' in sys.modules)"])
    path = os.pathsep.join([root, str(Path(__file__).parents[2])])
    words = [sys.executable, "-c", script, root]
    done = subprocess.run(words, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_modules_named_in_options_are_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = _write(tmp_path, agent="import yaml")
    monkeypatch.delitem(sys.modules, "yaml", raising=False)
    options = {"graph": "agent:build", "retries": 2, "url": "http://127.0.0.1:1"}
    import_known({"adapter": "ratiba_worker.adapters.langgraph:Adapter", "options": options}, root)
    assert "yaml" in sys.modules


OWN_ADAPTER = """
import sys
import ratiba_action.worker, ratiba_action.worker.imports as imports
sys.modules["ratiba_worker"] = ratiba_action.worker
imports.import_known({"adapter": "ratiba_worker.served_system:Adapter", "options": {"adapter": sys.argv[1]}}, ".")
before = set(sys.modules)
imports.importlib.import_module(sys.argv[1].partition(":")[0])
"127.0.0.1".encode("idna")
print(set(sys.modules) - before)
"""


@pytest.mark.parametrize(
    "adapter", ["prompt_system", "adapters.prompt_template", "http_system", "templated_http_system", "command_system"]
)
def test_an_adapter_of_the_gate_is_loaded_with_all_that_it_imports(adapter: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", OWN_ADAPTER, f"ratiba_worker.{adapter}:Adapter"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_documentation_lists_the_known_libraries() -> None:
    text = (Path(__file__).parents[2] / "docs/adapters.md").read_text()
    assert [name for name in sorted(KNOWN) if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    "files",
    [
        {"adapter": "from shop import bot", "shop__in__bot": "def send():\n    import asyncio"},
        {"adapter": "async def migrate(url): pass"},
        {f"part_{number}": "" for number in range(201)},
        {"adapter": "x" * 1024 * 1024 + "async"},
    ],
    ids=["in a function of another module", "a coroutine", "too many files", "too large a file"],
)
def test_a_system_that_may_be_asynchronous_is_seen(tmp_path: Path, files: dict[str, str]) -> None:
    assert may_be_asynchronous(_write(tmp_path, **files))


def test_any_other_system_needs_no_asyncio(tmp_path: Path) -> None:
    assert not may_be_asynchronous(_write(tmp_path, adapter="import time", shop__in__bot="def send(): pass"))
