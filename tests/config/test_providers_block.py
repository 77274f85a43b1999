import pytest

from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.errors import SuiteError

OWN = "{api: openai, base_url: http://127.0.0.1:8000/v1}"


def read(providers: str, rest: str = "") -> Configuration:
    return read_configuration("ratiba.yml", f"system: {{replay: {{}}}}\nproviders:\n{providers}{rest}".encode())


def problems_of(providers: str, rest: str = "") -> str:
    with pytest.raises(SuiteError) as caught:
        read(providers, rest)
    return "\n".join(map(str, caught.value.problems))


def test_a_provider_has_a_format_and_an_address() -> None:
    configuration = read(f"  own: {OWN}\n  claude: {{api: anthropic, base_url: https://models.example, key: A_KEY}}\n")
    assert [configuration.wire_of(name) for name in ("own", "claude", "openai", "anthropic")] == [
        "openai",
        "anthropic",
        "openai",
        "anthropic",
    ]
    assert configuration.providers["own"].address == "http://127.0.0.1:8000/v1"


def test_azure_lies_at_its_deployment() -> None:
    block = "{api: azure, base_url: https://x.openai.azure.com/, key: A_KEY, deployment: d, api_version: 2024-10-21}"
    assert read(f"  own: {block}\n").providers["own"].address == (
        "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21"
    )


@pytest.mark.parametrize(
    ("block", "address"),
    [
        ("{api: bedrock, region: eu-west-1}", "https://bedrock-runtime.eu-west-1.amazonaws.com"),
        (
            "{api: vertex, region: europe-west1, project: shop, key: G_KEY}",
            "https://europe-west1-aiplatform.googleapis.com/v1",
        ),
        ("{api: vertex, region: global, project: shop, key: G_KEY}", "https://aiplatform.googleapis.com/v1"),
    ],
)
def test_a_cloud_lies_at_its_region_and_speaks_as_anthropic_does(block: str, address: str) -> None:
    provider = read(f"  own: {block}\n").providers["own"]
    assert (provider.address, provider.wire) == (address, "anthropic")


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("{api: openai}", "base_url"),
        ("{api: google, base_url: https://x.example}", "'google' is not allowed"),
        ("{api: gemini, output_limit: max_tokens}", "output_limit is for api openai and azure; gemini has one field"),
        ("{api: gemini, deployment: d}", "deployment are for api azure; this is gemini"),
        ("{api: openai, base_url: https://x.example, key: groq}", "'groq' is not the name of a variable"),
        ("{api: openai, base_url: https://x.example, key: RATIBA_SEAL_KEY}", "is not the name of a variable"),
        ("{api: openai, base_url: https://x.example, key: GITHUB_TOKEN}", "is not the name of a variable"),
        ("{api: azure, base_url: https://x.example, key: A_KEY}", "api azure needs deployment and api_version"),
        ("{api: azure, base_url: https://x.example, deployment: d, api_version: v}", "api azure needs a key"),
        ("{api: bedrock}", "api bedrock needs a region"),
        ("{api: bedrock, region: Nairobi!}", "region"),
        ("{api: bedrock, region: eu-west-1, project: shop}", "project cannot be used with api bedrock"),
        ("{api: bedrock, region: eu-west-1, access_key: HOME}", "'HOME' is not the name of a variable"),
        ("{api: vertex, region: europe-west1}", "api vertex needs a project and a key"),
        ("{api: openai, base_url: https://x.example, region: eu-west-1}", "region cannot be used with api openai"),
        ("{api: openai, base_url: https://x.example, deployment: d}", "deployment are for api azure"),
        ("{api: anthropic, base_url: https://x.example, output_limit: max_tokens}", "output_limit is for api openai"),
    ],
)
def test_a_block_that_cannot_be_used_is_reported_with_its_line(block: str, problem: str) -> None:
    messages = problems_of(f"  own: {block}\n")
    assert problem in messages
    assert messages.startswith("ratiba.yml:3:")


def test_gemini_has_an_address_and_answers_its_own_format_by_its_name() -> None:
    configuration = read(
        "  gemini: {api: gemini, key: GEMINI_API_KEY}\n  vertex: {api: gemini, base_url: https://x.example}\n"
    )
    assert configuration.providers["gemini"].address == "https://generativelanguage.googleapis.com"
    assert configuration.providers["vertex"].address == "https://x.example"
    assert configuration.wire_of("vertex") == configuration.wire_of("gemini") == "gemini"
    assert configuration.gateway_routes == {}
    assert read("  own: {api: gemini, gateway: true}\n").gateway_routes == {"gemini": "own"}


def test_the_name_of_geminis_format_is_no_other_formats() -> None:
    problem = problems_of(f"  gemini: {OWN}\n")
    assert "gemini is the name of api: gemini, and this is openai; use another name" in problem


def test_a_name_that_is_built_in_or_no_name_is_refused() -> None:
    assert "openai cannot be declared" in problems_of(f"  openai: {OWN}\n")
    assert "ratiba.yml" in problems_of(f"  Own House: {OWN}\n")


@pytest.mark.parametrize("block", ["judge", "simulator"])
def test_a_provider_that_nobody_declares_is_reported_with_those_that_are(block: str) -> None:
    messages = problems_of(f"  own: {OWN}\n", f"{block}: {{provider: owm, model: m}}\n")
    assert f"{block}.provider is 'owm'" in messages
    assert "declared are anthropic, openai, own" in messages


def test_the_gateway_has_one_provider_a_format() -> None:
    block = OWN.replace("}", ", gateway: true}")
    assert read(f"  own: {block}\n").gateway_routes == {"openai": "own"}
    assert read(f"  own: {OWN}\n").gateway_routes == {}
    assert "own and other all say gateway: true" in problems_of(f"  own: {block}\n  other: {block}\n")
