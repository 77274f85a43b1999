"""A system under test on a real client of models: one process for one library, since importing it takes seconds.

Usage: python model_clients.py. Reads one pass a line, ``{"client": …, "environment": {…}}``, and answers each with one
line: the tool calls and texts that the client understood, whole and streamed, or the error that it raised. It imports
nothing of ours: its address and key are in the environment alone.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

GPT, HAIKU, GEMINI, NOVA = "gpt-5.2", "claude-haiku-4-5", "gemini-2.5-flash", "amazon.nova-pro-v1:0"
AZURE_VERSION = "2024-10-21"
SYSTEM, ASKED = "You book appointments for a spa in Nairobi.", "Massage kesho saa nane"
NAME, SCHEMA = "check_availability", {"type": "object", "properties": {"service": {"type": "string"}}}
RESULT = {"free": True}
Answered = dict[str, Any]


def _openai(client: Any) -> Answered:
    tools = [{"type": "function", "function": {"name": NAME, "parameters": SCHEMA}}]
    return _chat(lambda **request: client.chat.completions.create(model=GPT, tools=tools, **request))


def openai() -> Answered:
    """OpenAI's own client."""
    from openai import OpenAI  # one library a process

    with OpenAI() as client:
        return _openai(client)


def azure() -> Answered:
    """The same library's client of Azure, as docs/providers.md sets it up."""
    from openai import AzureOpenAI  # one library a process

    address = os.environ["OPENAI_BASE_URL"].removesuffix("/v1")
    with AzureOpenAI(azure_endpoint=address, api_key=os.environ["OPENAI_API_KEY"], api_version=AZURE_VERSION) as client:
        return _openai(client)


def _litellm(model: str, **options: Any) -> Answered:
    from litellm import completion  # one library a process

    tools = [{"type": "function", "function": {"name": NAME, "parameters": SCHEMA}}]
    return _chat(lambda **request: completion(model=model, tools=tools, max_tokens=200, **options, **request))


def litellm_azure() -> Answered:
    """LiteLLM in Azure's format."""
    address, key = os.environ["OPENAI_BASE_URL"].removesuffix("/v1"), os.environ["OPENAI_API_KEY"]
    return _litellm(f"azure/{GPT}", api_base=address, api_key=key, api_version=AZURE_VERSION)


def _chat(create: Callable[..., Any]) -> Answered:
    """A turn with a tool, in the form of chat completions, each answer whole and streamed."""
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ASKED}]
    first = create(messages=messages)
    call = first.choices[0].message.tool_calls[0]
    streamed = _chat_stream(create(messages=messages, stream=True))
    function = {"name": call.function.name, "arguments": call.function.arguments}
    called = {"id": call.id, "type": "function", "function": function}
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": call.id, "content": json.dumps(RESULT)},
    ]
    last = create(messages=messages)
    return {
        "tool": [call.function.name, json.loads(call.function.arguments)],
        "streamed_tool": streamed[1],
        "text": last.choices[0].message.content,
        "streamed_text": _chat_stream(create(messages=messages, stream=True))[0],
        "tokens": [last.usage.prompt_tokens, last.usage.completion_tokens],
    }


def _chat_stream(chunks: Iterable[Any]) -> tuple[str, Any]:
    text, name, arguments = "", "", ""
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                name += call.function.name or ""
                arguments += call.function.arguments or ""
    return text, [name, json.loads(arguments)] if name else None


def anthropic() -> Answered:
    """Anthropic's own client."""
    from anthropic import Anthropic  # one library a process

    messages: list[Any] = [{"role": "user", "content": ASKED}]
    tools: Any = [{"name": NAME, "input_schema": SCHEMA}]
    request: Any = {"model": HAIKU, "max_tokens": 200, "system": SYSTEM, "tools": tools}
    with Anthropic() as client:
        first = client.messages.create(messages=messages, **request)
        with client.messages.stream(messages=messages, **request) as stream:
            streamed = stream.get_final_message()
        call = next(block for block in first.content if block.type == "tool_use")
        result = {"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(RESULT)}
        messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
        last: Any = client.messages.create(messages=messages, **request)
        with client.messages.stream(messages=messages, **request) as stream:
            text = "".join(stream.text_stream)
    again = next(block for block in streamed.content if block.type == "tool_use")
    return {
        "tool": [call.name, call.input],
        "streamed_tool": [again.name, again.input],
        "text": last.content[0].text,
        "streamed_text": text,
        "tokens": [last.usage.input_tokens, last.usage.output_tokens],
    }


def google_genai() -> Answered:
    """Google's own client."""
    from google import genai  # one library a process
    from google.genai import types

    declared = types.FunctionDeclaration(name=NAME, parameters_json_schema=SCHEMA)
    settings: Any = {"system_instruction": SYSTEM, "tools": [types.Tool(function_declarations=[declared])]}
    request: Any = {"model": GEMINI, "config": types.GenerateContentConfig(max_output_tokens=200, **settings)}
    asked = types.Content(role="user", parts=[types.Part(text=ASKED)])
    client = genai.Client()
    first: Any = client.models.generate_content(contents=[asked], **request)
    call = first.function_calls[0]
    parts = [chunk.function_calls for chunk in client.models.generate_content_stream(contents=[asked], **request)]
    again = next(calls[0] for calls in parts if calls)
    result = types.Part.from_function_response(name=call.name, response=RESULT)
    contents = [asked, first.candidates[0].content, types.Content(role="user", parts=[result])]
    last: Any = client.models.generate_content(contents=contents, **request)
    streamed = client.models.generate_content_stream(contents=contents, **request)
    return {
        "tool": [call.name, call.args],
        "streamed_tool": [again.name, again.args],
        "text": last.text,
        "streamed_text": "".join(chunk.text or "" for chunk in streamed),
        "tokens": [last.usage_metadata.prompt_token_count, last.usage_metadata.candidates_token_count],
    }


def boto3() -> Answered:
    """AWS's own client, which signs with the token for a key and reads AWS's frames."""
    import boto3 as aws  # one library a process

    client = aws.Session().client("bedrock-runtime", region_name="eu-west-1")
    tools = [{"toolSpec": {"name": NAME, "inputSchema": {"json": SCHEMA}}}]
    request: Any = {"modelId": NOVA, "system": [{"text": SYSTEM}], "toolConfig": {"tools": tools}}
    messages: list[Any] = [{"role": "user", "content": [{"text": ASKED}]}]
    first = client.converse(messages=messages, **request)["output"]["message"]
    call = next(block["toolUse"] for block in first["content"] if "toolUse" in block)
    again = _converse_stream(client.converse_stream(messages=messages, **request)["stream"])
    result = {"toolUseId": call["toolUseId"], "content": [{"json": RESULT}]}
    messages += [first, {"role": "user", "content": [{"toolResult": result}]}]
    last = client.converse(messages=messages, **request)
    return {
        "tool": [call["name"], call["input"]],
        "streamed_tool": again[1],
        "text": last["output"]["message"]["content"][0]["text"],
        "streamed_text": _converse_stream(client.converse_stream(messages=messages, **request)["stream"])[0],
        "tokens": [last["usage"]["inputTokens"], last["usage"]["outputTokens"]],
    }


def _converse_stream(events: Iterable[Any]) -> tuple[str, Any]:
    text, name, arguments = "", "", ""
    for event in events:
        name += event.get("contentBlockStart", {}).get("start", {}).get("toolUse", {}).get("name", "")
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        text += delta.get("text", "")
        arguments += delta.get("toolUse", {}).get("input", "")
    return text, [name, json.loads(arguments)] if name else None


CLIENTS: Mapping[str, Callable[[], Answered]] = {
    "openai": openai,
    "azure": azure,
    "anthropic": anthropic,
    "google-genai": google_genai,
    "boto3": boto3,
    "litellm, openai": lambda: _litellm(f"openai/{GPT}"),
    "litellm, anthropic": lambda: _litellm(f"anthropic/{HAIKU}"),
    "litellm, azure": litellm_azure,
    "litellm, gemini": lambda: _litellm(f"gemini/{GEMINI}"),
}


def main() -> None:
    """Answer each line until there are no more."""
    answers, sys.stdout = sys.stdout, sys.stderr  # LiteLLM prints
    for line in sys.stdin:
        asked = json.loads(line)
        os.environ.update(asked["environment"])
        try:
            text = CLIENTS[asked["client"]]()
        except Exception as error:  # noqa: BLE001 - whatever the library raises is the answer
            text = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(text), file=answers, flush=True)


if __name__ == "__main__":
    main()
