"""The ``providers`` section: further endpoints that models are called at, each with a name."""

from typing import Annotated, Literal, Self
from urllib.parse import urlencode, urlsplit, urlunsplit

from pydantic import AfterValidator, Field, model_validator

from ratiba_action.config.model_limits import Name
from ratiba_action.llm.endpoints import FORMATS
from ratiba_action.llm.providers.anthropic import Anthropic
from ratiba_action.llm.providers.openai import OpenAI
from ratiba_action.model.model_request import PROVIDER_NAME
from ratiba_action.settings.provider_keys import BUILT_IN, is_key_name
from ratiba_action.util.validation import OneOf, StrictModel

ProviderName = Annotated[str, Field(pattern=f"^{PROVIDER_NAME}$")]

_HOSTED = {"azure": OpenAI.name, "bedrock": Anthropic.name, "vertex": Anthropic.name}
"""The format that a cloud serves at addresses of its own."""
_DECLARED = tuple(name for name in FORMATS if name not in BUILT_IN)
_REGIONAL = tuple(name for name in _DECLARED if "{region}" in FORMATS[name].base_url)
_APIS = (*BUILT_IN, "azure", *_DECLARED, "bedrock", "vertex")


def _parse_key_name(value: str) -> str:
    if not is_key_name(value):
        raise ValueError(f"{value!r} is not the name of a variable that ends in _KEY or _TOKEN, such as GROQ_API_KEY")
    return value


KeyName = Annotated[str, AfterValidator(_parse_key_name)]
Region = Annotated[str, Field(pattern=r"^[a-z]+(-[a-z]+)*-?[0-9]{0,2}$", max_length=40)]
Project = Annotated[str, Field(pattern=r"^[a-z][a-z0-9:.-]{1,98}[a-z0-9]$")]

_NEEDED: dict[str, tuple[str, ...]] = {
    **{name: ("region",) if name in _REGIONAL else () for name in _DECLARED},
    "bedrock": ("region",),
    "vertex": ("region", "project", "key"),
}
_OF_CLOUDS = {
    "region": (*_REGIONAL, "bedrock", "vertex"),
    "project": ("vertex",),
    "access_key": ("bedrock",),
    "session_token": ("bedrock",),
}


class ProviderBlock(StrictModel):
    """One endpoint."""

    api: Annotated[str, OneOf(_APIS)] = Field(description="the format of its requests")
    base_url: Name | None = Field(
        default=None,
        description="https address; http for this machine only; not needed where the api has its own",
    )
    key: KeyName | None = Field(
        default=None, description="name of the variable that holds its key; null: it needs none"
    )
    region: Region | None = Field(default=None, description="region of a cloud, such as eu-west-1")
    project: Project | None = Field(default=None, description="vertex: Google's project")
    access_key: KeyName = Field(default="AWS_ACCESS_KEY_ID", description="bedrock: variable with the id of the key")
    session_token: KeyName = Field(
        default="AWS_SESSION_TOKEN", description="bedrock: variable with the token of temporary credentials"
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
            raise ValueError("api azure needs deployment and api_version")
        if self.api != "azure" and given:
            raise ValueError(f"{' and '.join(given)} are for api azure; this is {self.api}")
        return self

    @model_validator(mode="after")
    def _has_its_place(self) -> Self:
        missing = [name for name in _NEEDED.get(self.api, ("base_url",)) if getattr(self, name) is None]
        if missing:
            raise ValueError(f"api {self.api} needs a {' and a '.join(missing)}")
        useless = [name for name, apis in _OF_CLOUDS.items() if name in self.model_fields_set and self.api not in apis]
        if useless:
            raise ValueError(f"{' and '.join(useless)} cannot be used with api {self.api}")
        return self

    @model_validator(mode="after")
    def _limit_is_of_openai(self) -> Self:
        if self.wire != OpenAI.name and "output_limit" in self.model_fields_set:
            raise ValueError(f"output_limit is for api openai and azure; {self.api} has one field")
        return self

    @model_validator(mode="after")
    def _azure_needs_a_key(self) -> Self:
        if self.api == "azure" and self.key is None:
            raise ValueError("api azure needs a key")
        return self

    @property
    def wire(self) -> str:
        """Whose format its requests have, a name in ``FORMATS``."""
        return _HOSTED.get(self.api, self.api)

    @property
    def key_variable(self) -> str | None:
        """Variable with its key, or with AWS's secret access key; None: it needs none."""
        return self.key or ("AWS_SECRET_ACCESS_KEY" if self.api == "bedrock" else None)

    @property
    def _usual_address(self) -> str:
        if self.api == "bedrock":
            return f"https://bedrock-runtime.{self.region}.amazonaws.com"
        if self.api == "vertex":
            host = "aiplatform" if self.region == "global" else f"{self.region}-aiplatform"
            return f"https://{host}.googleapis.com/v1"
        return FORMATS[self.api].base_url.format(region=self.region)

    @property
    def address(self) -> str:
        """Where its endpoints lie; of Azure the deployment's address with the version of the API."""
        base_url = self.base_url or self._usual_address
        if self.api != "azure":
            return base_url
        parts = urlsplit(base_url)
        path = f"{parts.path.rstrip('/')}/openai/deployments/{self.deployment}"
        return urlunsplit((parts.scheme, parts.netloc, path, urlencode({"api-version": self.api_version}), ""))
