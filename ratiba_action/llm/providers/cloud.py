"""Requests to Claude on Amazon Bedrock and Google's Vertex AI: written and signed by Anthropic's SDK, sent by none.

The SDK gets a transport that keeps the request and answers nothing, so that one HTTP client sends every attempt. See
``docs/decisions/0057-sdks-of-providers.md``. Importing this module loads nothing of the extra ``cloud``.
"""

import base64
import binascii
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.values import JsonObject
from ratiba_action.util.installation import install_command

_CONFIGURES_THE_SDKS = ("ANTHROPIC_", "AWS_", "BOTO", "CLOUDSDK_", "CLOUD_ML_", "GCE_METADATA_", "GOOGLE_")
_NO_FILES = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TOKEN_SECONDS = 20
_SET_BY_THE_CLIENT = frozenset({"host", "connection", "content-length"})
_SHELL = threading.Lock()


class NoTokenError(Exception):
    """Google gave no token, so that no model was called."""


@dataclass(frozen=True, slots=True)
class CloudAccess:
    """How requests to one cloud are written.

    Args:
        api: ``bedrock`` or ``vertex``.
        region: of the endpoint, such as ``eu-west-1``.
        project: of Google; empty for AWS.
        access_key: id of AWS's key; the provider's key is the secret that belongs to it.
        session_token: of temporary credentials of AWS; empty for lasting ones.
    """

    api: str
    region: str
    project: str = ""
    access_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class WrittenRequest:
    """What is sent: an address that is already encoded, headers with the signature or token, and the body."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    data: bytes = field(repr=False)


class CloudRequests:
    """Writes the requests of one provider. ``write`` blocks for a while when Google's token has to be fetched.

    Args:
        access: the cloud, its region and credentials.
        key: AWS's secret access key; Google's service account as JSON, as the same in Base64, or the path of its file.
        base_url: where requests go.

    Raises:
        ConfigurationError: the extra ``cloud`` is not installed, or the key is no service account.
    """

    def __init__(self, provider: str, access: CloudAccess, key: str, base_url: str) -> None:
        self._access, self._key, self._base_url = access, key, base_url
        try:
            import anthropic  # noqa: F401 - over a second of processor time; only with these providers

            if access.api == "bedrock":
                import boto3  # noqa: F401 - the same
            self._account = _service_account(provider, key) if access.api == "vertex" else None
        except ImportError as error:
            raise ConfigurationError(
                f"The provider {provider!r} needs the package {error.name!r}, which is not installed.",
                f"Run: {install_command('cloud')}, or use the image with PACKAGES=full.",
            ) from None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not appear in an answer."""
        token = getattr(self._account, "token", None)
        return tuple(filter(None, (self._key, self._access.access_key, self._access.session_token, token)))

    def write(self, body: JsonObject) -> WrittenRequest:
        """One request to create a message, signed now; every attempt needs its own.

        Args:
            body: of Anthropic's Messages API, with ``model``.

        Raises:
            NoTokenError: Google gave no token.
        """
        # Neither cloud has Anthropic's tiers: a request is served at the list price of the platform.
        body = {name: value for name, value in body.items() if name != "service_tier"}
        token = self._token() if self._account is not None else ""
        with _without_shell():
            return self._written(body, token)

    def _token(self) -> str:
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import Request

        account: Any = self._account
        if not account.valid:
            try:
                account.refresh(partial(Request(), timeout=_TOKEN_SECONDS))
            except GoogleAuthError as error:
                raise NoTokenError(type(error).__name__) from None  # its text may repeat what was sent
        return str(account.token)

    def _written(self, body: JsonObject, token: str) -> WrittenRequest:
        import httpx2  # comes with the SDK

        kept: list[httpx2.Request] = []

        def keep(request: httpx2.Request) -> httpx2.Response:
            kept.append(request)
            return httpx2.Response(200, json={})

        with self._client(httpx2.Client(transport=httpx2.MockTransport(keep), trust_env=False), token) as client:
            client.post("/v1/messages", cast_to=object, body=dict(body))
        (request,) = kept
        headers = {name: value for name, value in request.headers.items() if name not in _SET_BY_THE_CLIENT}
        return WrittenRequest(str(request.url), headers, request.content)

    def _client(self, http: Any, token: str) -> Any:
        from anthropic import AnthropicBedrock, AnthropicVertex

        access = self._access
        shared: dict[str, Any] = {
            "base_url": self._base_url,
            "http_client": http,
            "max_retries": 0,
            "open_telemetry": False,
            "default_headers": {"Accept-Encoding": "gzip, deflate"},
        }
        if access.api == "vertex":
            return AnthropicVertex(region=access.region, project_id=access.project, access_token=token, **shared)
        return AnthropicBedrock(
            aws_region=access.region,
            aws_access_key=access.access_key,
            aws_secret_key=self._key,
            aws_session_token=access.session_token or None,
            **shared,
        )


@contextmanager
def _without_shell() -> Iterator[None]:
    """While the SDKs run, no variable and no file of the shell adds a header, a token, a profile or an address."""
    with _SHELL:
        taken = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(_CONFIGURES_THE_SDKS)}
        os.environ.update(_NO_FILES)
        try:
            yield
        finally:
            for name in _NO_FILES:
                del os.environ[name]
            os.environ.update(taken)


def _service_account(provider: str, key: str) -> Any:
    from google.auth.exceptions import GoogleAuthError
    from google.oauth2.service_account import Credentials

    try:
        text = key if key.lstrip().startswith("{") else _of_file(key) or base64.b64decode(key, validate=True).decode()
        make: Any = Credentials.from_service_account_info
        return make(json.loads(text), scopes=[_SCOPE])
    except (ValueError, OSError, binascii.Error, GoogleAuthError):
        raise ConfigurationError(
            f"The key of {provider} is no service account.",
            "Give the JSON that Google made for it, the same in Base64, or the path of its file.",
        ) from None


def _of_file(name: str) -> str:
    """The file's content; empty where there is none."""
    try:
        return Path(name).read_text(encoding="utf-8") if name.endswith(".json") else ""
    except OSError:
        return ""
