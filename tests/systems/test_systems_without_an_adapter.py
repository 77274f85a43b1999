"""What is particular to each way of describing a system; what all share is in the conformance tests."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.errors import WorkerError
from ratiba_action.model.conversation import Document, Reply, ToolCall
from ratiba_action.model.plan import Tenant
from ratiba_action.model.scenario import Customer, Scenario, Turn
from ratiba_action.ports import Session
from ratiba_action.systems.choose import choose_system
from ratiba_action.systems.workplace import Surroundings
from tests.support.eventually import eventually
from tests.support.http_stand_in import HttpAnswer, HttpRequest, HttpStandIn, http_answer

Open = Callable[..., Awaitable[Session]]


@pytest.fixture
async def open_session(tmp_path: Path) -> AsyncIterator[Open]:
    """Opens a conversation with a system of the given block, whose root is the test's folder."""
    systems = []

    async def open_one(
        block: dict[str, Any],
        replies: tuple[str, ...] = (),
        inputs: dict[str, Any] | None = None,
        **environment: str,
    ) -> Session:
        surroundings = Surroundings(tmp_path, os.environ | {"HTTP_PROXY": "http://127.0.0.1:1"})
        system = choose_system(SystemBlock.model_validate(block), surroundings)
        systems.append(system)
        await system.start()
        customer = Customer("Wanjiku", "+254712345432")
        now = datetime(2026, 4, 25, 7, tzinfo=UTC)
        scenario = Scenario("spa", "sw", (), now, customer, vertical="spa", replies=replies, inputs=inputs or {})
        return await system.open(scenario, Tenant("id", "", ""), environment)

    yield open_one
    for system in systems:
        await system.close()


class Server:
    """Answers every request with the same, and keeps what was asked."""

    def __init__(self, content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._answer = HttpAnswer(http_answer(status, content, headers or {}))
        self.asked: list[HttpRequest] = []

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        self.asked.append(request)
        return self._answer


async def ask(session: Session, text: str = "Habari") -> Reply:
    return await session.send(Turn(user=text))


async def test_a_template_is_filled_and_every_part_of_the_reply_is_found(open_session: Open) -> None:
    answer = {
        "a": {"text": "Karibu", "state": "ONE"},
        "calls": [{"function": "book", "arguments": {"day": 1}, "other": 2}],
        "docs": [{"uri": "x", "relevance": 0.5}],
        "label": {"label": "greet"},
    }
    server = Server(json.dumps(answer).encode())
    async with HttpStandIn(server.handle) as stand_in:
        http = {
            "url": f"{stand_in.url}/chat",
            "headers": {"X-Client": "gate"},
            "query": {"lang": "${language}", "said": "${message}"},
            "body": {
                "said": "${message}",
                "all": "${messages}",
                "when": "at ${now}",
                "zone": "${timezone}",
                "phone": "${customer_phone}",
            },
            "reply": {
                "text": "a.text",
                "state": "a.state",
                "payment": "a.payment",
                "tool_calls": "calls[].{name: function, args: arguments}",
                "documents": "docs[].{id: uri, score: relevance}",
                "output": "label",
            },
        }
        session = await open_session({"http": http})
        reply = await ask(session, "Habari & ${now}")
        await ask(session, "Asante")
    assert reply == Reply(
        "Karibu",
        "ONE",
        tool_calls=(ToolCall("book", {"day": 1}),),
        documents=(Document("x", "", 0.5),),
        output={"label": "greet"},
    )
    first, second = server.asked
    assert first.path == "/chat?lang=sw&said=Habari+%26+%24%7Bnow%7D"
    assert first.headers["x-client"] == "gate"
    body = json.loads(first.content)
    assert (body["said"], body["phone"]) == ("Habari & ${now}", "+254712345432")
    assert body["when"] == "at 2026-04-25T07:00:00+00:00"
    assert [one["content"] for one in json.loads(second.content)["all"]] == ["Habari & ${now}", "Karibu", "Asante"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(open_session: Open, status: int) -> None:
    elsewhere = Server(b'{"text": "stolen"}')
    async with HttpStandIn(elsewhere.handle) as other:
        server = Server(b"", status, {"Location": f"{other.url}/secret"})
        async with HttpStandIn(server.handle) as stand_in:
            text = rf"status {status} \(redirects are not followed\)"
            with pytest.raises(WorkerError, match=text):
                await ask(await open_session({"http": {"url": stand_in.url, "reply": {"text": "text"}}}))
            with pytest.raises(WorkerError, match=text):
                await open_session({"url": stand_in.url})
    assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"other": 1}', "`system.http.reply.text` found nothing in"),
        (b'{"text": 3}', "`text` is a number, not a text"),
        (b'{"text": "a", "state": ["x"]}', "`state` is a list"),
        (b"[" * 100_000, "was not answered with JSON"),
        (b'{"text": "Sijui", "text": "Karibu"}', "was answered with JSON that has the key 'text' twice"),
        (b'{"text": "a", "output": ' + b"[" * 80 + b"]" * 80 + b"}", "nested deeper than 64"),
        (b'{"text": NaN}', "not a JSON number"),
        (b"<html>", "was not answered with JSON: <html>"),
        (b"", "was not answered with JSON"),
    ],
)
async def test_an_answer_that_is_no_reply_is_named(open_session: Open, content: bytes, message: str) -> None:
    async with HttpStandIn(Server(content).handle) as stand_in:
        reply = {"text": "text", "state": "state", "output": "output"}
        session = await open_session({"http": {"url": stand_in.url, "reply": reply}})
        with pytest.raises(WorkerError, match="spa.*" + message):
            await ask(session)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'data: {"d": "a"}\n\n', "without the end mark"),
        (b'data: {"d": "a"}\n\ndata: [DONE]', "without the end mark"),
        (b"data: <p>\n\ndata: [DONE]\n\n", "was not answered with JSON"),
        (b"data: [DONE]\n\n", "found nothing in 0 events"),
        (b'data: {"d": 3}\n\ndata: [DONE]\n\n', "found 3, which is not a text"),
    ],
)
async def test_a_stream_that_is_not_whole_is_no_answer(open_session: Open, content: bytes, message: str) -> None:
    async with HttpStandIn(Server(content).handle) as stand_in:
        session = await open_session({"http": {"url": stand_in.url, "stream": {"text": "d", "end": "[DONE]"}}})
        with pytest.raises(WorkerError, match=message):
            await ask(session)


async def test_the_pieces_of_a_stream_are_joined_however_its_lines_end(open_session: Open) -> None:
    content = (
        b'event: x\r\nid: 1\r\ndata: {"d":\r\ndata: "Kari"}\r\n\r\n: beat\n\ndata:{"s": 1}\n\n'
        b'data: {"d": "bu"}\n\ndata: [DONE]\n\ndata: {"d": "late"}\n\n'
    )
    async with HttpStandIn(Server(content).handle) as stand_in:
        session = await open_session({"http": {"url": stand_in.url, "stream": {"text": "d", "end": "[DONE]"}}})
        assert (await ask(session)).text == "Karibu"


async def test_what_a_program_complains_of_is_shown_when_it_ends(open_session: Open, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(
        "import sys\ninput()\nprint('no such table: bookings', file=sys.stderr)\nsys.exit(7)\n"
    )
    session = await open_session({"command": ["python3", "bot.py"]})
    with pytest.raises(
        WorkerError, match=r"ended with exit code 7 before it answered. It wrote: no such table: bookings"
    ):
        await ask(session)


async def test_a_program_that_a_signal_ends_names_it_and_memory(open_session: Open, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("import os, signal\ninput()\nos.kill(os.getpid(), signal.SIGKILL)\n")
    session = await open_session({"command": ["python3", "bot.py"]})
    with pytest.raises(WorkerError, match=r"was ended by SIGKILL \(the kernel sends SIGKILL when memory runs out\)"):
        await ask(session)


async def test_a_program_that_is_not_there_is_named(open_session: Open) -> None:
    with pytest.raises(WorkerError, match=r"the command \['no-such-program'\] cannot be started"):
        await open_session({"command": ["no-such-program"]})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hello", "is no JSON"),
        ("[1]", "the answer is a list"),
        ("", "is no JSON"),
        ('{"text": "Sijui", "text": "Karibu"}', "has the key 'text' twice"),
        ('{"text": "Karibu", "tool_calls": [{"name": "a", "name": "b"}]}', "has the key 'name' twice"),
        ('{"text": "Sijui"}\n{"text": "Karibu"}', "exactly one line for each request"),
        ('{"text": "Karibu"}\n', "exactly one line for each request"),
    ],
)
async def test_a_line_that_is_no_reply_is_named(open_session: Open, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "bot.sh").write_text(f"read line; echo '{line}'; read line\n")
    session = await open_session({"command": ["sh", "bot.sh"]})
    with pytest.raises(WorkerError, match=message):
        await ask(session)


async def test_a_signal_without_a_name_is_reported_by_its_number(open_session: Open, tmp_path: Path) -> None:
    (tmp_path / "bot.sh").write_text("read line; kill -35 $$\n")
    session = await open_session({"command": ["sh", "bot.sh"]})
    with pytest.raises(WorkerError, match="was ended by signal 35"):
        await ask(session)


async def test_a_line_between_two_requests_is_no_reply_to_the_second(open_session: Open, tmp_path: Path) -> None:
    waiting = "while [ ! -e go ]; do sleep 0.01; done"
    (tmp_path / "bot.sh").write_text(
        f'read line; echo "\\"$PWD\\""; {waiting}; echo \'"Ndiyo"\'; touch written; read line; read line\n'
    )
    session = await open_session({"command": ["sh", "bot.sh"]})
    folder = Path((await ask(session)).text)
    (folder / "go").touch()
    assert await asyncio.to_thread(eventually, (folder / "written").exists)
    with pytest.raises(WorkerError, match=r"Ndiyo.* before the request\. Write exactly one line"):
        await ask(session)


async def test_a_program_in_a_shell_may_answer_with_a_text_and_ends_with_its_session(
    open_session: Open, tmp_path: Path
) -> None:
    (tmp_path / "bot.sh").write_text('trap \'\' TERM; while :; do read line && echo "\\"$$\\""; done\n')
    session = await open_session({"command": ["sh", "bot.sh"], "turn_timeout_seconds": 20})
    process = Path("/proc") / (await ask(session)).text
    assert process.exists()
    await session.close()
    assert await asyncio.to_thread(eventually, lambda: not process.exists())


async def test_a_prompt_asks_each_provider_in_its_own_way(open_session: Open, tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("Kuwa mkarimu.")
    prompt = {"file": "p.md", "model": "m", "max_output_tokens": 9, "temperature": 0.5}
    server = Server(json.dumps({"choices": [{"message": {"content": "Karibu"}}]}).encode())
    async with HttpStandIn(server.handle) as stand_in:
        session = await open_session(
            {"prompt": {**prompt, "provider": "openai"}}, OPENAI_BASE_URL=f"{stand_in.url}/v1", OPENAI_API_KEY="token"
        )
        assert (await ask(session)).text == "Karibu"
        await ask(session, "Asante")
    assert [request.path for request in server.asked] == ["/v1/chat/completions"] * 2
    assert server.asked[0].headers["authorization"] == "Bearer token"
    assert json.loads(server.asked[1].content) == {
        "model": "m",
        "max_completion_tokens": 9,
        "temperature": 0.5,
        "messages": [
            {"role": "system", "content": "Kuwa mkarimu."},
            {"role": "user", "content": "Habari"},
            {"role": "assistant", "content": "Karibu"},
            {"role": "user", "content": "Asante"},
        ],
    }


GEMINI = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "hm", "thought": True},
                    {"text": "Karibu"},
                    {"functionCall": {"name": "book", "args": {"day": 1}}},
                ]
            }
        }
    ]
}
CONVERSE = {
    "output": {"message": {"content": [{"text": "Karibu"}, {"toolUse": {"name": "book", "input": {"day": 1}}}]}}
}


@pytest.mark.parametrize(
    ("provider", "request_keys", "answer", "path", "body"),
    [
        (
            "gemini",
            {"generationConfig": {"topP": 0.5, "maxOutputTokens": 99_000}},
            GEMINI,
            "/v1beta/models/m:generateContent",
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "Habari"}]},
                    {"role": "model", "parts": [{"text": "Karibu"}]},
                    {"role": "user", "parts": [{"text": "Asante"}]},
                ],
                "systemInstruction": {"parts": [{"text": "Kuwa mkarimu."}]},
                "generationConfig": {"topP": 0.5, "maxOutputTokens": 9, "temperature": 0.5},
            },
        ),
        (
            "converse",
            {"inferenceConfig": {"topP": 0.5, "maxTokens": 99_000}},
            CONVERSE,
            "/model/m/converse",
            {
                "messages": [
                    {"role": "user", "content": [{"text": "Habari"}]},
                    {"role": "assistant", "content": [{"text": "Karibu"}]},
                    {"role": "user", "content": [{"text": "Asante"}]},
                ],
                "system": [{"text": "Kuwa mkarimu."}],
                "inferenceConfig": {"topP": 0.5, "maxTokens": 9, "temperature": 0.5},
            },
        ),
    ],
)
async def test_a_prompt_speaks_the_format_of_gemini_and_of_bedrock(  # noqa: PLR0917 - a row
    provider: str,
    request_keys: dict[str, Any],
    answer: Any,
    path: str,
    body: dict[str, Any],
    open_session: Open,
    tmp_path: Path,
) -> None:
    (tmp_path / "p.md").write_text("Kuwa mkarimu.")
    prompt = {"file": "p.md", "provider": provider, "model": "m", "max_output_tokens": 9, "temperature": 0.5}
    server = Server(json.dumps(answer).encode())
    async with HttpStandIn(server.handle) as stand_in:
        where = {
            "GOOGLE_GEMINI_BASE_URL": stand_in.url,
            "GEMINI_API_KEY": "token",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": stand_in.url,
            "AWS_ACCESS_KEY_ID": "token",
        }
        session = await open_session({"prompt": {**prompt, "request": request_keys}}, **where)
        await ask(session)
        reply = await ask(session, "Asante")
    assert (reply.text, reply.tool_calls) == ("Karibu", (ToolCall("book", {"day": 1}),))
    asked = server.asked[1]
    assert asked.path == path
    assert json.loads(asked.content) == body
    offered = (asked.headers.get("x-goog-api-key"), asked.headers.get("authorization"))
    assert offered in {("token", None), (None, "AWS4-HMAC-SHA256 Credential=token/")}


@pytest.mark.parametrize("provider", ["gemini", "converse"])
async def test_an_answer_in_another_format_is_named(provider: str, open_session: Open, tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("x")
    server = Server(b'{"choices": []}')
    async with HttpStandIn(server.handle) as stand_in:
        names = ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ACCESS_KEY_ID")
        block = {"prompt": {"file": "p.md", "provider": provider, "model": "m", "max_output_tokens": 9}}
        session = await open_session(block, **dict.fromkeys(names, stand_in.url))
        with pytest.raises(WorkerError, match="the model's answer is not one of"):
            await ask(session)


async def test_inputs_fill_a_template_with_their_types_and_stand_as_json_in_a_text(open_session: Open) -> None:
    server = Server(b'{"text": "Karibu"}')
    inputs = {"city": "Nairobi", "guests": 0, "tags": ["a"], "none": None}
    async with HttpStandIn(server.handle) as stand_in:
        http = {
            "url": stand_in.url,
            "query": {"guests": "${inputs.guests}"},
            "body": {
                "all": "${inputs}",
                "tags": "${inputs.tags}",
                "text": "${message} ${inputs.city} ${inputs.guests} ${inputs.tags}${inputs.none}",
            },
            "reply": {"text": "text"},
        }
        await ask(await open_session({"http": http}, inputs=inputs))
    (request,) = server.asked
    assert request.path == "/?guests=0"
    assert json.loads(request.content) == {"all": inputs, "tags": ["a"], "text": 'Habari Nairobi 0 ["a"]'}


async def test_an_input_that_the_scenario_lacks_is_named_before_anything_is_sent(open_session: Open) -> None:
    server = Server(b'{"text": "Karibu"}')
    async with HttpStandIn(server.handle) as stand_in:
        http = {"url": stand_in.url, "body": {"c": "${inputs.city}"}, "reply": {"text": "text"}}
        session = await open_session({"http": http}, inputs={"town": "Nairobi"})
        with pytest.raises(WorkerError, match=r"1 input that the scenario does not have: city"):
            await ask(session)
    assert not server.asked


PROMPT = {"provider": "openai", "model": "m", "max_output_tokens": 9}


async def sent(
    open_session: Open, prompt: dict[str, Any], inputs: dict[str, Any], *messages: str, answer: Any = None
) -> tuple[list[Any], Reply]:
    """What a prompt asks its model for each message, and its last reply."""
    server = Server(json.dumps({"choices": [{"message": answer or {"content": "Karibu"}}]}).encode())
    async with HttpStandIn(server.handle) as stand_in:
        where = {"OPENAI_BASE_URL": f"{stand_in.url}/v1", "OPENAI_API_KEY": "token"}
        session = await open_session({"prompt": PROMPT | prompt}, inputs=inputs, **where)
        for message in messages:
            reply = await ask(session, message)
    return [json.loads(request.content) for request in server.asked], reply


async def test_a_prompt_is_a_template_of_the_message_the_history_and_the_inputs(
    open_session: Open, tmp_path: Path
) -> None:
    text = "{% for one in topics %}{{ loop.index }}. {{ one | upper }} {% endfor %}{% if tone %}{{ tone }}{% endif %}"
    (tmp_path / "p.md").write_text(f"{text}: {{{{ message }}}} ({{{{ history | length }}}})")
    prompt = {"file": "p.md", "template": "jinja", "role": "user"}
    requests, _ = await sent(open_session, prompt, {"topics": ["a", "b"]}, "Habari", "Asante")
    assert [request["messages"] for request in requests] == [
        [{"role": "user", "content": "1. A 2. B : Habari (0)"}],
        [
            {"role": "user", "content": "Habari"},
            {"role": "assistant", "content": "Karibu"},
            {"role": "user", "content": "1. A 2. B : Asante (2)"},
        ],
    ]
    requests, _ = await sent(open_session, {"file": "p.md", "template": "jinja"}, {"topics": []}, "Habari")
    assert requests[0]["messages"] == [
        {"role": "system", "content": ": Habari (0)"},
        {"role": "user", "content": "Habari"},
    ]


async def test_values_stand_in_a_prompt_as_in_json_and_not_as_python_spells_them(
    open_session: Open, tmp_path: Path
) -> None:
    (tmp_path / "p.md").write_text("{{ b }}|{{ n }}|{{ f }}|{{ h }}|{{ o }}|{{ l }}|{{ t }}")
    inputs = {"b": True, "n": None, "f": 4.0, "h": 0.5, "o": {"a": "é"}, "l": [1, None], "t": "[x]"}
    (asked,), _ = await sent(open_session, {"file": "p.md", "template": "jinja"}, inputs, "Habari")
    assert asked["messages"][0]["content"] == 'true||4|0.5|{"a": "é"}|[1, null]|[x]'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "p.json",
            '[{"role": "system", "content": "In {{ city }}"}, {"role": "user", "content": {{ message | dump }}}]',
        ),
        ("p.json", '[{"role": "system", "content": "In {{ city }}"}, {"role": "user", "content": "{{ message }}"}]'),
        ("p.yaml", "- {role: system, content: In {{ city }}}\n- role: user\n  content: {{ message | dump }}\n"),
    ],
)
async def test_a_chat_file_lists_the_messages_itself(
    open_session: Open, tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    request = {"response_format": {"type": "json_object"}}
    prompt = {"file": name, "template": "jinja", "request": request}
    (asked,), _ = await sent(open_session, prompt, {"city": "Nairobi"}, 'Say "hi"')
    assert asked["messages"] == [
        {"role": "system", "content": "In Nairobi"},
        {"role": "user", "content": 'Say "hi"'},
    ]
    assert asked["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    ("name", "around", "contents"),
    [
        ("p.md", "Say: {}", ["Say: Habari", "Say: Say: Habari=Karibu;Asante"]),
        ("p.json", '[{{"role": "user", "content": "{}"}}]', ["Habari", "Habari=Karibu;Asante"]),
    ],
)
async def test_a_template_sees_the_conversation_as_promptfoo_lists_it(
    name: str, around: str, contents: list[str], open_session: Open, tmp_path: Path
) -> None:
    loop = "{% for each in _conversation %}{{ each.input }}={{ each.output }};{% endfor %}{{ message }}"
    (tmp_path / name).write_text(around.format(loop))
    prompt = {"file": name, "template": "jinja"} | ({"role": "system"} if name == "p.md" else {})
    requests, _ = await sent(open_session, prompt, {}, "Habari", "Asante")
    assert [each["messages"][0]["content"] for each in requests] == contents


async def test_the_tools_that_a_prompt_calls_are_in_its_reply(open_session: Open, tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("Book.")
    called = {"function": {"name": "book", "arguments": '{"day": 1}'}}
    answer = {"content": None, "tool_calls": [called]}
    requests, reply = await sent(open_session, {"file": "p.md"}, {}, "Habari", "Asante", answer=answer)
    assert reply.tool_calls == (ToolCall("book", {"day": 1}),)
    assert [message["role"] for message in requests[1]["messages"]] == ["system", "user", "user"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.md", "{{ town }}", r"p\.md: 'town' is undefined\. Known are city, history, message"),
        ("p.md", "{% for x in cities %}{% endfor %}", "'cities' is undefined"),
        ("p.md", "a\n{% if %}", r"p\.md:2 is no Jinja template"),
        ("p.md", "{{ ''.__class__.__mro__ }}", "unsafe"),
        ("p.md", "{{ 1 // 0 }}", "p.md cannot be filled"),
        ("p.json", '[{"role": "user", "content": "x"} {{ city }}]', r"not readable.*name \| dump"),
        ("p.yaml", "- role: bot\n  content: x", "is no message with role"),
    ],
)
async def test_a_template_that_cannot_be_filled_is_named_with_its_cause(
    open_session: Open, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(WorkerError, match=message):
        await sent(open_session, {"file": name, "template": "jinja"}, {"city": 'a"b'}, "Habari")


async def test_a_prompt_that_is_not_there_is_named(open_session: Open) -> None:
    prompt = {"file": "p.md", "provider": "openai", "model": "m", "max_output_tokens": 9}
    with pytest.raises(WorkerError, match=r"FileNotFoundError: .*'p.md'"):
        await open_session({"prompt": prompt})


PLAIN = """
import asyncio
class Full:
    def setup(self, context): self.name = context.customer_name
    async def run(self, message, history=()): return f"{self.name} {message} {len(history)}"
    def deliver(self, event): return {"text": event["type"]}
    def teardown(self): open("ended", "w").write("yes")
def plain(words): return words.upper()
def inside_a_loop(words): return asyncio.run(later(words))
async def later(words): return words[::-1]
def hungry(message, database): return message
class Nothing: pass
def wrong(message): return 3
def whole(messages): return f"{len(messages)} {messages[-1]['role']} {messages[-1]['content']}"
def whole_again(history, context=None): return whole(history)
"""


@pytest.mark.parametrize(
    ("name", "text"), [("Full", "Wanjiku ab 0"), ("plain", "AB"), ("inside_a_loop", "ba"), ("later", "ba")]
)
async def test_a_function_or_a_plain_class_is_a_system(
    open_session: Open, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    session = await open_session({"adapter": f"plain:{name}", "database": False})
    assert (await ask(session, "ab")).text == text


@pytest.mark.parametrize(
    ("name", "message"),
    [("hungry", r"hungry\(\) needs 'database'"), ("Nothing", "is no adapter"), ("wrong", "the answer is a number")],
)
async def test_what_is_no_system_is_named(open_session: Open, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    with pytest.raises(WorkerError, match=message):
        await ask(await open_session({"adapter": f"plain:{name}", "database": False}))


@pytest.mark.parametrize("name", ["whole", "whole_again"])
async def test_a_first_parameter_named_history_or_messages_is_the_conversation_with_this_message(
    open_session: Open, tmp_path: Path, name: str
) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    session = await open_session({"adapter": f"plain:{name}", "database": False})
    assert [(await ask(session, message)).text for message in ("ab", "cd")] == ["1 user ab", "3 user cd"]


async def test_a_plain_class_is_delivered_events(open_session: Open, tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    session = await open_session({"adapter": "plain:Full", "database": False})
    assert (await session.send(Turn(event={"type": "paid"}))).text == "paid"


async def test_the_replies_of_a_scenario_are_given_in_order_and_no_more(open_session: Open) -> None:
    session = await open_session({"replay": {}}, ("moja", "mbili"))
    assert [(await ask(session)).text for _ in range(2)] == ["moja", "mbili"]
    with pytest.raises(WorkerError, match="fewer captured replies than turns"):
        await ask(session)


async def test_a_scenario_without_captured_replies_is_named(open_session: Open) -> None:
    with pytest.raises(WorkerError, match="holds no captured replies"):
        await open_session({"replay": {}})


async def test_a_transcript_behind_a_link_is_not_read(open_session: Open, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"text": "secret"}\n')
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "spa.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(WorkerError, match="symbolic link"):
        await open_session({"replay": {"transcripts": "t"}})


async def test_a_wrong_line_of_a_transcript_is_named(open_session: Open, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "spa.jsonl").write_text('{"text": "moja"}\n{"txt": "mbili"}\n')
    with pytest.raises(WorkerError, match=r"t/spa.jsonl:2: the answer has no 'text'"):
        await open_session({"replay": {"transcripts": "t"}})
