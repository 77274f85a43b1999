"""One conversation with each client for Python, as a system has it: ``python_clients.py NAME``.

Nothing here names the gateway: a client reads its address and its key from its environment, or from the one line that
the table in ``docs/adapters.md`` gives. Each answers a greeting, whole and as a stream, and a question that needs a
tool, and prints what it was answered as JSON. The packages are those of ``requirements/clients.txt``.
"""
# mypy: ignore-errors
# The clients are not installed where types are checked.

import asyncio
import json
import os
import sys
from typing import Any

GREETING, QUESTION = "Greet me in Swahili.", "How warm is it in Nairobi?"
GPT, CLAUDE, GEMINI = "gpt-5.2", "claude-haiku-4-5", "gemini-2.5-flash"
NAME, ABOUT = "get_weather", "The weather in a city."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"type": "function", "function": {"name": NAME, "description": ABOUT, "parameters": SCHEMA}}
env = os.environ


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"21 degrees in {city}"


def _asked(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def _chat(create: Any, model: str) -> dict[str, Any]:
    """By the shape of OpenAI's chat completions, which several clients share."""
    whole = create(model=model, messages=_asked(GREETING)).choices[0].message.content
    pieces = [part for part in create(model=model, messages=_asked(GREETING), stream=True) if part.choices]
    streamed = "".join(part.choices[0].delta.content or "" for part in pieces)
    first = create(model=model, messages=_asked(QUESTION), tools=[FUNCTION]).choices[0].message
    (call,) = first.tool_calls
    result = get_weather(**json.loads(call.function.arguments))
    function = {"name": call.function.name, "arguments": call.function.arguments}
    called = {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": function}]}
    messages = [*_asked(QUESTION), called, {"role": "tool", "tool_call_id": call.id, "content": result}]
    tool = create(model=model, messages=messages, tools=[FUNCTION]).choices[0].message.content
    return {"whole": whole, "streamed": streamed, "tool": tool}


def openai_chat() -> dict[str, Any]:
    """OpenAI's chat completions."""
    import openai

    return _chat(openai.OpenAI().chat.completions.create, GPT)


def openai_responses() -> dict[str, Any]:
    """OpenAI's responses."""
    import openai

    create = openai.OpenAI().responses.create
    whole = create(model=GPT, input=GREETING).output_text
    events = create(model=GPT, input=GREETING, stream=True)
    streamed = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    tools = [{"type": "function", "name": NAME, "description": ABOUT, "parameters": SCHEMA, "strict": False}]
    first = create(model=GPT, input=QUESTION, tools=tools)
    (call,) = [item for item in first.output if item.type == "function_call"]
    output = {
        "type": "function_call_output",
        "call_id": call.call_id,
        "output": get_weather(**json.loads(call.arguments)),
    }
    last = create(model=GPT, input=[output], tools=tools, previous_response_id=first.id)
    return {"whole": whole, "streamed": streamed, "tool": last.output_text}


def anthropic() -> dict[str, Any]:
    """Anthropic's messages."""
    import anthropic as sdk

    messages, given = sdk.Anthropic().messages, {"model": CLAUDE, "max_tokens": 200}
    whole = messages.create(**given, messages=_asked(GREETING)).content[0].text
    with messages.stream(**given, messages=_asked(GREETING)) as stream:
        streamed = "".join(stream.text_stream)
    tools = [{"name": NAME, "description": ABOUT, "input_schema": SCHEMA}]
    first = messages.create(**given, messages=_asked(QUESTION), tools=tools)
    (call,) = [block for block in first.content if block.type == "tool_use"]
    result = {"type": "tool_result", "tool_use_id": call.id, "content": get_weather(**call.input)}
    talk = [*_asked(QUESTION), {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    return {
        "whole": whole,
        "streamed": streamed,
        "tool": messages.create(**given, messages=talk, tools=tools).content[0].text,
    }


def google_genai() -> dict[str, Any]:
    """Google's Gen AI, whose client calls the tool itself."""
    from google import genai
    from google.genai import types

    client = genai.Client()  # kept: it is closed when nothing refers to it
    models = client.models
    whole = models.generate_content(model=GEMINI, contents=GREETING).text
    stream = models.generate_content_stream(model=GEMINI, contents=GREETING)
    streamed = "".join(part.text or "" for part in stream)
    config = types.GenerateContentConfig(tools=[get_weather])
    tool = models.generate_content(model=GEMINI, contents=QUESTION, config=config).text
    return {"whole": whole, "streamed": streamed, "tool": tool}


def groq() -> dict[str, Any]:
    """Groq's chat completions."""
    import groq as sdk

    client = sdk.Groq(base_url=env["OPENAI_BASE_URL"].removesuffix("/v1"), api_key=env["OPENAI_API_KEY"])
    return _chat(client.chat.completions.create, GPT)


def together() -> dict[str, Any]:
    """Together's chat completions."""
    import together as sdk

    client = sdk.Together(base_url=env["OPENAI_BASE_URL"].removesuffix("/v1"), api_key=env["OPENAI_API_KEY"])
    return _chat(client.chat.completions.create, GPT)


def mistralai() -> dict[str, Any]:
    """Mistral's chat completions."""
    try:
        from mistralai.client import Mistral
    except ImportError:
        from mistralai import Mistral

    client = Mistral(server_url=env["OPENAI_BASE_URL"].removesuffix("/v1"), api_key=env["OPENAI_API_KEY"])

    def create(*, stream: bool = False, **given: Any) -> Any:
        if stream:
            return (event.data for event in client.chat.stream(**given))
        return client.chat.complete(**given)

    return _chat(create, GPT)


def azure_openai() -> dict[str, Any]:
    """OpenAI's client for Azure."""
    import openai

    endpoint = env["OPENAI_BASE_URL"].removesuffix("/v1")
    client = openai.AzureOpenAI(azure_endpoint=endpoint, api_key=env["OPENAI_API_KEY"], api_version="2024-10-21")
    return _chat(client.chat.completions.create, GPT)


def litellm_openai() -> dict[str, Any]:
    """LiteLLM with a model of OpenAI."""
    import litellm

    return _chat(litellm.completion, f"openai/{GPT}")


def litellm_anthropic() -> dict[str, Any]:
    """LiteLLM with a model of Anthropic."""
    import litellm

    return _chat(litellm.completion, f"anthropic/{CLAUDE}")


def litellm_gemini() -> dict[str, Any]:
    """LiteLLM with a model of Google."""
    import litellm

    return _chat(litellm.completion, f"gemini/{GEMINI}")


def _langchain(model: Any) -> dict[str, Any]:
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool

    asked: list[Any] = [HumanMessage(QUESTION)]
    bound = model.bind_tools([tool(get_weather)])
    first = bound.invoke(asked)
    (call,) = first.tool_calls
    last = bound.invoke([*asked, first, ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"])])
    return {
        "whole": model.invoke(GREETING).text,
        "streamed": "".join(part.text for part in model.stream(GREETING)),
        "tool": last.text,
    }


def langchain_openai() -> dict[str, Any]:
    """LangChain's ``ChatOpenAI``."""
    from langchain_openai import ChatOpenAI

    return _langchain(ChatOpenAI(model=GPT))


def langchain_openai_responses() -> dict[str, Any]:
    """LangChain's ``ChatOpenAI`` over responses."""
    from langchain_openai import ChatOpenAI

    return _langchain(ChatOpenAI(model=GPT, use_responses_api=True))


def langchain_anthropic() -> dict[str, Any]:
    """LangChain's ``ChatAnthropic``."""
    from langchain_anthropic import ChatAnthropic

    return _langchain(ChatAnthropic(model=CLAUDE, max_tokens=200))


def langchain_google_genai() -> dict[str, Any]:
    """LangChain's ``ChatGoogleGenerativeAI``."""
    from langchain_google_genai import ChatGoogleGenerativeAI

    return _langchain(ChatGoogleGenerativeAI(model=GEMINI))


def langgraph() -> dict[str, Any]:
    """An agent of LangGraph."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    agent = create_agent(ChatOpenAI(model=GPT), tools=[get_weather])
    plain = create_agent(ChatOpenAI(model=GPT), tools=[])
    whole = plain.invoke({"messages": _asked(GREETING)})["messages"][-1].text
    parts = plain.stream({"messages": _asked(GREETING)}, stream_mode="messages")
    streamed = "".join(part.text for part, _ in parts)
    tool = agent.invoke({"messages": _asked(QUESTION)})["messages"][-1].text
    return {"whole": whole, "streamed": streamed, "tool": tool}


def _llama_index(model: Any) -> dict[str, Any]:
    from llama_index.core.agent.workflow import FunctionAgent

    whole = model.complete(GREETING).text
    streamed = "".join(part.delta or "" for part in model.stream_complete(GREETING))

    async def run() -> str:
        return str(await FunctionAgent(tools=[get_weather], llm=model).run(QUESTION))

    return {"whole": whole, "streamed": streamed, "tool": asyncio.run(run())}


def llama_index_openai() -> dict[str, Any]:
    """LlamaIndex's ``OpenAI`` with an agent."""
    from llama_index.llms.openai import OpenAI

    return _llama_index(OpenAI(model=GPT))


def llama_index_openai_responses() -> dict[str, Any]:
    """LlamaIndex's ``OpenAIResponses`` with an agent."""
    from llama_index.llms.openai import OpenAIResponses

    return _llama_index(OpenAIResponses(model=GPT))


def openai_agents() -> dict[str, Any]:
    """The OpenAI Agents SDK."""
    from agents import Agent, Runner, function_tool

    plain = Agent(name="greeter", model=GPT)
    helped = Agent(name="weather", model=GPT, tools=[function_tool(get_weather)])

    async def run() -> dict[str, Any]:
        whole = (await Runner.run(plain, GREETING)).final_output
        stream = Runner.run_streamed(plain, GREETING)
        pieces = [event.data async for event in stream.stream_events() if event.type == "raw_response_event"]
        streamed = "".join(piece.delta for piece in pieces if piece.type == "response.output_text.delta")
        return {"whole": whole, "streamed": streamed, "tool": (await Runner.run(helped, QUESTION)).final_output}

    return asyncio.run(run())


def _pydantic_ai(model: Any) -> dict[str, Any]:
    from pydantic_ai import Agent

    plain, helped = Agent(model), Agent(model, tools=[get_weather])

    async def run() -> dict[str, Any]:
        whole = (await plain.run(GREETING)).output
        async with plain.run_stream(GREETING) as result:
            streamed = "".join([piece async for piece in result.stream_text(delta=True)])
        return {"whole": whole, "streamed": streamed, "tool": (await helped.run(QUESTION)).output}

    return asyncio.run(run())


def pydantic_ai_openai() -> dict[str, Any]:
    """Pydantic AI with ``openai:``."""
    return _pydantic_ai(f"openai:{GPT}")


def pydantic_ai_openai_chat() -> dict[str, Any]:
    """Pydantic AI with ``openai-chat:``."""
    return _pydantic_ai(f"openai-chat:{GPT}")


def pydantic_ai_openai_responses() -> dict[str, Any]:
    """Pydantic AI with ``openai-responses:``."""
    return _pydantic_ai(f"openai-responses:{GPT}")


def pydantic_ai_google() -> dict[str, Any]:
    """Pydantic AI with ``google:``."""
    return _pydantic_ai(f"google:{GEMINI}")


def _semantic_kernel(service: Any, settings: Any) -> dict[str, Any]:
    from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
    from semantic_kernel.contents import ChatHistory
    from semantic_kernel.functions import kernel_function
    from semantic_kernel.kernel import Kernel

    def history(text: str) -> Any:
        chat = ChatHistory()
        chat.add_user_message(text)
        return chat

    class Weather:
        @kernel_function(name=NAME, description=ABOUT)
        def get_weather(self, city: str) -> str:
            return get_weather(city)

    kernel = Kernel()
    kernel.add_service(service)
    kernel.add_plugin(Weather(), plugin_name="tools")

    async def run() -> dict[str, Any]:
        whole = str(await service.get_chat_message_content(history(GREETING), settings()))
        stream = service.get_streaming_chat_message_content(history(GREETING), settings())
        streamed = "".join([str(part) async for part in stream])
        calling = settings(function_choice_behavior=FunctionChoiceBehavior.Auto())
        tool = str(await service.get_chat_message_content(history(QUESTION), calling, kernel=kernel))
        return {"whole": whole, "streamed": streamed, "tool": tool}

    return asyncio.run(run())


def semantic_kernel_openai() -> dict[str, Any]:
    """Semantic Kernel's ``OpenAIChatCompletion``."""
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings

    return _semantic_kernel(OpenAIChatCompletion(ai_model_id=GPT), OpenAIChatPromptExecutionSettings)


def semantic_kernel_anthropic() -> dict[str, Any]:
    """Semantic Kernel's ``AnthropicChatCompletion``."""
    from semantic_kernel.connectors.ai.anthropic import AnthropicChatCompletion, AnthropicChatPromptExecutionSettings

    return _semantic_kernel(AnthropicChatCompletion(ai_model_id=CLAUDE), AnthropicChatPromptExecutionSettings)


def ollama() -> dict[str, Any]:
    """Ollama's own client, at its own format."""
    from ollama import Client

    client = Client(host=env["OPENAI_BASE_URL"].removesuffix("/v1"))
    return {"whole": client.chat(model="llama3.3", messages=_asked(GREETING)).message.content}


def cohere() -> dict[str, Any]:
    """Cohere's own client, at its own format."""
    from cohere import ClientV2

    client = ClientV2(api_key=env["OPENAI_API_KEY"], base_url=env["OPENAI_BASE_URL"].removesuffix("/v1"))
    return {"whole": client.chat(model="command-a-03-2025", messages=_asked(GREETING)).message.content[0].text}


CLIENTS = {
    "openai": openai_chat,
    "openai responses": openai_responses,
    "openai azure": azure_openai,
    "anthropic": anthropic,
    "google-genai": google_genai,
    "groq": groq,
    "together": together,
    "mistralai": mistralai,
    "litellm openai": litellm_openai,
    "litellm anthropic": litellm_anthropic,
    "litellm gemini": litellm_gemini,
    "langchain-openai": langchain_openai,
    "langchain-openai responses": langchain_openai_responses,
    "langchain-anthropic": langchain_anthropic,
    "langchain-google-genai": langchain_google_genai,
    "langgraph": langgraph,
    "llama-index openai": llama_index_openai,
    "llama-index openai responses": llama_index_openai_responses,
    "openai-agents": openai_agents,
    "pydantic-ai openai": pydantic_ai_openai,
    "pydantic-ai openai-chat": pydantic_ai_openai_chat,
    "pydantic-ai openai-responses": pydantic_ai_openai_responses,
    "pydantic-ai google": pydantic_ai_google,
    "semantic-kernel openai": semantic_kernel_openai,
    "semantic-kernel anthropic": semantic_kernel_anthropic,
    "ollama": ollama,
    "cohere": cohere,
}


if __name__ == "__main__":
    print(json.dumps(CLIENTS[sys.argv[1]]()))  # noqa: T201 - what the test reads
