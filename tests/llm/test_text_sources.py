"""Which files a text that a model was sent stands in, whatever the format of the file."""

import io
import json
import sqlite3
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.llm.text_sources import files_of, pieces, sent_texts

RULE = "Massages can be returned within 30 days, never haircuts."
PROMPT = f"You help guests of a salon in Nairobi.\n\n{RULE} Answer in Swahili."


def request(system: str = "", *messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    given = [{"role": role, "content": content} for role, content in messages]
    return {"model": "claude-haiku-4-5-20251001", "system": system, "messages": given, **more}


def found(files: dict[str, str | bytes], body: dict[str, Any], *words: str) -> set[str]:
    contents = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
    return set(files_of(contents, list(sent_texts(body, words))))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("agent.py", f"SYSTEM = {PROMPT!r}\n"),
        (
            "implicit.py",
            'SYSTEM = ("Massages can be "\n    # a comment between\n    "returned within 30 " + "days,"\n)\n',
        ),
        ("dedent.py", f'import textwrap\nSYSTEM = textwrap.dedent("""\\\n        {RULE}\n        """)\n'),
        ("model.py", f'@dataclass\nclass Assistant:\n    prompt: str = "{RULE}"\n    limit: int = 3\n'),
        (
            "parts.py",
            'def prompt(what, days):\n    return f"{what} can be returned within {days} days, never haircuts."\n',
        ),
        ("escapes.py", 'SYSTEM = "Massages\\u0020can be\\treturned within\\n30 days, never haircuts."\n'),
        ("newer.py", f"match SYSTEM := ) 'unbalanced\nSYSTEM = '{RULE}'\n"),
        ("tool.py", f'def refund(code: str) -> str:\n    """{RULE}"""\n'),
        ("prompts.yaml", f"roles:\n  guest:\n    text: >-\n      {RULE[:20]}\n      {RULE[20:]}\n"),
        ("quoted.yaml", f'text: "{RULE[:20]}\\n\\\n  {RULE[20:]}"\n'),
        ("prompts.json", json.dumps({"texts": [{"body": PROMPT}]})),
        ("escaped.json", json.dumps({"body": PROMPT}).replace("M", "\\u004d")),
        ("prompts.toml", f'[guest]\ntext = "{RULE}"\n'),
        ("prompt.md.j2", f"{{# for guests #}}{{% if guest %}}{RULE}{{% endif %}} {{{{ more }}}}\n"),
        ("knowledge.md", f"# Returns\n\n- **{RULE[:15]}** {RULE[15:]}\n- Another rule of the house is this.\n"),
        ("seed.sql", f"VALUES ('guest', '{RULE}', 1);\n"),
        ("rules.csv", f'id,text,days\n1,"{RULE}",30\n'),
        ("agent.ts", f"export const system: string = `\n  ${{greeting}} {RULE}\n`;\n"),
        ("main.go", f'const system = "{RULE[:20]}" +\n\t"{RULE[20:]}"\n'),
        ("texts.xml", "<text>Ask &amp; tell: massages &#99;an be returned within 30 days, never haircuts.</text>"),
        ("Windows.txt", PROMPT.replace("\n", "\r\n")),
    ],
)
def test_a_file_is_found_by_a_text_of_it_that_a_model_was_sent(name: str, content: str) -> None:
    assert found({name: content}, request(PROMPT)) == {name}
    assert found({name: content}, request("Another prompt about cars.", ("user", "Are haircuts returned?"))) == set()


@pytest.mark.parametrize("other", ["", "Another row that stands beside it.", "x" * 70])
def test_a_row_of_a_database_file_is_found(tmp_path: Path, other: str) -> None:
    with sqlite3.connect(tmp_path / "seed.db") as database:
        database.execute("CREATE TABLE prompts (name TEXT, body TEXT)")
        database.executemany("INSERT INTO prompts VALUES (?, ?)", [("guest", RULE), ("more", other)])
    database.close()
    content = (tmp_path / "seed.db").read_bytes()
    assert found({"seed.db": content}, request(PROMPT)) == {"seed.db"}


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_file_of_an_archive_is_found_and_a_broken_archive_has_none(compression: int) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        archive.writestr("word/document.xml", f"<w:t>{RULE}</w:t>")
    content = packed.getvalue()
    assert found({"knowledge.docx": content}, request(PROMPT)) == {"knowledge.docx"}
    assert found({"knowledge.docx": content[:-30]}, request(PROMPT)) == set()


@pytest.mark.parametrize(
    "body",
    [
        request(RULE),
        request("", ("system", RULE)),
        request("", ("user", [{"type": "text", "text": f"Rules:\n{RULE}\nQuestion: Can I?"}])),
        request("", ("tool", json.dumps({"rules": [RULE]}))),
        request("", ("user", [{"type": "tool_result", "content": [{"type": "text", "text": RULE}]}])),
        request(tools=[{"name": "refund", "description": RULE, "input_schema": {}}]),
        request(tools=[{"name": "refund", "input_schema": {"properties": {"code": {"description": RULE}}}}]),
        {"model": "m", "instructions": RULE, "input": "?"},
        {"model": "m", "contents": [{"parts": [{"text": "?"}]}], "systemInstruction": {"parts": [{"text": RULE}]}},
    ],
)
def test_texts_are_looked_for_wherever_a_request_has_them(body: dict[str, Any]) -> None:
    assert found({"rules.md": f"# Rules\n{RULE}\n"}, body) == {"rules.md"}


@pytest.mark.parametrize(
    "body",
    [
        request("", ("user", f"You wrote: {RULE}")),
        request("", ("user", json.dumps({"state": "browsing", "message": RULE}))),
        request("", ("assistant", RULE), ("user", "Thanks")),
        {"contents": [{"role": "model", "parts": [{"text": RULE}]}]},
        request("", ("assistant", [{"type": "tool_use", "name": "say", "input": {"text": RULE}}])),
    ],
)
def test_the_words_of_the_user_and_of_the_model_are_nobodys(body: dict[str, Any]) -> None:
    assert found({"questions.md": f"{RULE}\n"}, body, RULE) == set()


@pytest.mark.parametrize(
    "content",
    [
        'ANSWERS = {"Yes.", "No.", "not found", "salon in Nairobi", "claude-haiku-4-5-20251001"}',
        "# You help guests of a salon in Nairobi.\nNAME = 'guest'\n",
        "def help_guests_of_a_salon_in_nairobi(): ...\n",
    ],
)
def test_words_that_do_not_say_where_they_are_from_match_nothing(content: str) -> None:
    assert found({"code.py": content}, request(f"Yes. No. {PROMPT}")) == set()


WORDS = st.lists(
    st.sampled_from(["salon", "massage", "haircut", "price", "return", "Nairobi", "days", "never", "answer", "guest"]),
    min_size=5,
)


@given(WORDS, st.randoms(use_true_random=False), st.sampled_from(["a.md", "a.py", "a.yaml", "a.json"]))
def test_white_space_case_and_markup_make_no_difference(words: list[str], random: Any, name: str) -> None:
    text = " ".join(words)
    sent = "".join(
        random.choice([word, word.title(), f"**{word}**"]) + random.choice([" ", "\n  ", " — "]) for word in words
    )
    content = {
        "a.md": textwrap.fill(text, 30),
        "a.py": f"X = {text!r}\n",
        "a.yaml": f"text: >\n  {textwrap.fill(text, 30, subsequent_indent='  ')}\n",
        "a.json": json.dumps({"text": textwrap.fill(text, 30)}),
    }[name]
    assert found({name: content}, request(sent)) == {name}


@given(st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_have_pieces_that_say_where_they_are_from(content: bytes) -> None:
    for name in ("a.py", "a.md"):
        assert all(len(piece) >= 18 and piece.count(" ") >= 3 for piece in pieces(name, content))


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.text(max_size=30))
def test_any_request_has_texts(body: dict[str, Any], text: str) -> None:
    files_of({"a.md": b"Nothing of this was sent to anybody."}, list(sent_texts(body, [text])))


def test_a_request_of_any_depth_is_read() -> None:
    deep: Any = RULE
    for _ in range(20_000):
        deep = [deep]
    assert found({"rules.md": RULE}, {"messages": deep}) == {"rules.md"}
    assert found({"rules.md": RULE}, request("", ("tool", "[" * 50_000 + RULE))) == {"rules.md"}
