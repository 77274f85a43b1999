"""Judge calls and nothing else: the floor of ``side_by_side`` and ``large_run``.

It imports nothing but what a loop needs: whatever else it loaded would lift the floor.
Run: ``python -m benchmarks.bare_loop openai --url URL --count 500``.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

AT_ONCE = 20
KEY = "sk-ant-" + "a" * 24
OPENAI_KEY = "sk-proj-" + "a" * 24
JUDGES = {"anthropic": "claude-opus-5-5", "openai": "gpt-5.6"}


async def bare_loop(url: str, count: int, client: str) -> None:
    """Send the calls and read the scores, by aiohttp or by an official SDK."""
    text = "Score this conversation from 0 to 10 as JSON. " + "massage " * 250
    messages: Any = [{"role": "user", "content": text}]
    slots = asyncio.Semaphore(AT_ONCE)
    if client == "aiohttp":
        import aiohttp  # its import is a part of what is measured, as those below

        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {OPENAI_KEY}"}) as session:
            address, body = f"{url}/v1/chat/completions", {"model": JUDGES["openai"], "messages": messages}

            async def post() -> str:
                async with session.post(address, json=body) as response:
                    return str((await response.json())["choices"][0]["message"]["content"])

            await _scores(slots, post, count)
    elif client == "openai":
        from openai import AsyncOpenAI

        async with AsyncOpenAI(api_key=OPENAI_KEY, base_url=f"{url}/v1", max_retries=0) as chat:

            async def complete() -> str:
                answer = await chat.chat.completions.create(model=JUDGES["openai"], messages=messages)
                return str(answer.choices[0].message.content)

            await _scores(slots, complete, count)
    else:
        from anthropic import AsyncAnthropic

        async with AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0) as claude:

            async def create() -> str:
                answer: Any = await claude.messages.create(
                    model=JUDGES["anthropic"], max_tokens=1024, messages=messages
                )
                return str(answer.content[0].text)

            await _scores(slots, create, count)


async def _scores(slots: asyncio.Semaphore, call: Callable[[], Awaitable[str]], count: int) -> None:
    async def one() -> None:
        async with slots:
            json.loads(await call())["score"]

    await asyncio.gather(*(one() for _ in range(count)))


def main() -> int:
    """Send all calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=("aiohttp", "openai", "anthropic"))
    parser.add_argument("--count", type=int, default=500, help="calls")
    parser.add_argument("--url", required=True, help="address of the stand-in")
    arguments = parser.parse_args()
    asyncio.run(bare_loop(arguments.url, arguments.count, arguments.client))
    return 0


if __name__ == "__main__":
    sys.exit(main())
