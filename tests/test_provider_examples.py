"""Every configuration of ``docs/providers.md`` is loaded, and its judge has a price or is free."""

import re
from pathlib import Path

import pytest

from ratiba_action.config.configuration import read_configuration
from ratiba_action.run.paid_run import price_list

PAGE = (Path(__file__).parents[1] / "docs/providers.md").read_text("utf-8")
BLOCKS = re.findall(r"^```yaml\n(providers:\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NAMES = ("gemini", "mistral", "groq", "deepseek", "openrouter", "azure", "ollama", "vllm", "litellm")


def test_every_common_provider_has_a_block() -> None:
    assert all(any(f"  {name}:" in block for block in BLOCKS) for name in NAMES)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_can_be_used_as_it_stands(block: str) -> None:
    configuration = read_configuration("ratiba.yml", f"system: {{replay: {{}}}}\n{block}".encode())
    judge = configuration.judge
    bound = price_list(configuration, {}).upper_bound(judge.model, judge.provider, 1_000, 1_000)
    declared = configuration.prices.get(judge.model)
    assert (bound == 0) == (declared is not None and declared.free is True)
