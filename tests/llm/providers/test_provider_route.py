"""Where providers are asked: https, or this machine; never an address that could leak a key."""

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.llm.providers.client import ProviderRoute


@pytest.mark.parametrize(
    ("provider", "base_url", "endpoint", "address"),
    [
        ("anthropic", "", "messages", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://models.example/", "messages", "https://models.example/v1/messages"),
        ("anthropic", "https://models.example/claude/v1", "messages", "https://models.example/claude/v1/messages"),
        ("openai", "", "responses", "https://api.openai.com/v1/responses"),
        ("openai", "http://localhost:8000/v1/", "embeddings", "http://localhost:8000/v1/embeddings"),
        ("openai", "http://127.8.0.1:9/v1", "embeddings", "http://127.8.0.1:9/v1/embeddings"),
        ("openai", "http://[::1]:9/v1", "embeddings", "http://[::1]:9/v1/embeddings"),
        (
            "openai",
            "https://spa.example/openai/deployments/gpt?api-version=2026-01-01",
            "chat/completions",
            "https://spa.example/openai/deployments/gpt/chat/completions?api-version=2026-01-01",
        ),
    ],
)
def test_an_endpoint_has_an_address(provider: str, base_url: str, endpoint: str, address: str) -> None:
    assert ProviderRoute(provider, "sk-1", base_url).address(endpoint) == address


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("https://google.example", "https://google.example/v1beta/models/gemini-3-pro:generateContent"),
        ("https://google.example/v1/", "https://google.example/v1/models/gemini-3-pro:generateContent"),
        ("https://x.example/proxy/v1alpha", "https://x.example/proxy/v1alpha/models/gemini-3-pro:generateContent"),
    ],
)
def test_the_address_of_gemini_holds_the_model(base_url: str, address: str) -> None:
    route = ProviderRoute("gemini", "planted", base_url)
    assert route.address("generateContent", "gemini-3-pro") == address
    assert route.headers() == {"x-goog-api-key": "planted"}
    assert "../" not in route.address("generateContent", "../../v1/files")


@pytest.mark.parametrize(
    "base_url",
    [
        "http://models.example",
        "http://10.0.0.1",
        "http://localhost.example",
        "http://127.0.0.1.example",
        "ftp://models.example",
        "models.example",
        "https://",
        "https://user:hunter22@models.example",
        "https://hunter22@models.example",
        "https://models.example/#hunter22",
        "https://models.example:port",
        "https://[::1",
        "https://models.example/a b",
        "https://models.example/\r\nx-hunter22: 1",
        "file:///etc/passwd",
    ],
)
def test_another_address_is_refused_without_showing_it(base_url: str) -> None:
    with pytest.raises(ConfigurationError, match="base URL of openai") as caught:
        ProviderRoute("openai", "sk-1", base_url)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("key", ["", " ", "sk-1\n", "sk 1", "sk-\x00", "sk-\N{BULLET}"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigurationError, match="The key of anthropic") as caught:
        ProviderRoute("anthropic", key)
    assert not key.strip() or key not in str(caught.value)
