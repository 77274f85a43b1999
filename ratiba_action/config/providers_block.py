"""The ``providers`` section: further endpoints that models are called at, each with a name."""

from typing import Annotated, Literal, Self
from urllib.parse import urlencode, urlsplit, urlunsplit

from pydantic import AfterValidator, Field, model_validator

from ratiba_action.config.model_limits import Name
from ratiba_action.model.model_request import PROVIDER_NAME
from ratiba_action.settings.provider_keys import is_key_name
from ratiba_action.util.validation import StrictModel

ProviderName = Annotated[str, Field(pattern=f"^{PROVIDER_NAME}$")]

BUILT_IN = ("anthropic", "openai")
"""Providers that need no declaration; their keys and addresses are inputs of the gate."""

WIRES = (*BUILT_IN, "gemini")
"""Formats of requests; each is the name of the provider that answers it unless another says ``gateway: true``."""

_GEMINI_ADDRESS = "https://generativelanguage.googleapis.com"


def _parse_key_name(value: str) -> str:
    if not is_key_name(value):
        msg = f"{value!r} is not the name of a variable that ends in _KEY or _TOKEN, such as GROQ_API_KEY"
        raise ValueError(msg)
    return value


class ProviderBlock(StrictModel):
    """One endpoint."""

    api: Literal["anthropic", "openai", "azure", "gemini"] = Field(description="the format of its requests")
    base_url: Name | None = Field(
        default=None, description="https address; http for this machine only; default of gemini: Google's"
    )
    key: Annotated[str, AfterValidator(_parse_key_name)] | None = Field(
        default=None, description="name of the variable that holds its key; null: it needs none"
    )
    deployment: Name | None = Field(default=None, description="azure: name of the deployment")
    api_version: Name | None = Field(default=None, description="azure: version of the API, such as 2024-10-21")
    output_limit: Literal["max_completion_tokens", "max_tokens"] = Field(
        default="max_completion_tokens", description="openai: the field that limits an answer; Mistral's is max_tokens"
    )
    gateway: bool = Field(default=False, description="answers the calls that the system makes in this format")

    @model_validator(mode="after")
    def _azure_has_a_deployment(self) -> Self:
        given = [name for name in ("deployment", "api_version") if getattr(self, name) is not None]
        if self.api == "azure" and len(given) < 2:  # noqa: PLR2004 - both of them
            msg = "api azure needs deployment and api_version"
            raise ValueError(msg)
        if self.api != "azure" and given:
            msg = f"{' and '.join(given)} are for api azure; this is {self.api}"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if self.api != "gemini" and self.base_url is None:
            msg = f"api {self.api} needs a base_url"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _limit_is_of_openai(self) -> Self:
        if self.api in {"anthropic", "gemini"} and "output_limit" in self.model_fields_set:
            msg = f"output_limit is for api openai and azure; {self.api} has one field"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _azure_needs_a_key(self) -> Self:
        if self.api == "azure" and self.key is None:
            msg = "api azure needs a key"
            raise ValueError(msg)
        return self

    @property
    def wire(self) -> str:
        """Whose format its requests have, one of ``WIRES``."""
        return self.api if self.api in WIRES else "openai"

    @property
    def address(self) -> str:
        """Where its endpoints lie; of Azure the deployment's address with the version of the API."""
        base_url = self.base_url or _GEMINI_ADDRESS
        if self.api != "azure":
            return base_url
        parts = urlsplit(base_url)
        path = f"{parts.path.rstrip('/')}/openai/deployments/{self.deployment}"
        return urlunsplit((parts.scheme, parts.netloc, path, urlencode({"api-version": self.api_version}), ""))
