from dataclasses import fields
from decimal import Decimal
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.change import Mode
from ratiba_action.model.shard import Shard
from ratiba_action.settings.environment import is_secret
from ratiba_action.settings.settings import INPUTS, Settings, read_settings


def test_without_any_input_the_defaults_hold() -> None:
    settings = read_settings({}, {})
    assert settings.budget_usd == Decimal(20)
    assert settings.mode is Mode.SKIP
    assert (settings.config, settings.scenarios) == (".github/ratiba.yml", "scenarios")
    assert settings.enforce


def test_an_option_wins_over_its_variable() -> None:
    environment = {"RATIBA_EVAL_BUDGET_USD": "3", "RATIBA_NAME": "from-environment"}
    settings = read_settings(environment, {"budget-usd": "0.50", "name": None})
    assert settings.budget_usd == Decimal("0.50")
    assert settings.name == "from-environment"


def test_all_wrong_inputs_are_reported_at_once_with_their_values_and_what_is_allowed() -> None:
    environment = {"RATIBA_EVAL_BUDGET_USD": "20 USD", "RATIBA_MODE": "loose", "RATIBA_ENFORCE": "maybe"}
    with pytest.raises(ConfigurationError) as caught:
        read_settings(environment, {})
    assert str(caught.value).splitlines() == [
        "mode (RATIBA_MODE): 'loose' is not allowed: give auto, advisory or blocking.",
        "enforce (RATIBA_ENFORCE): 'maybe' is not allowed: give true or false.",
        (
            "budget-usd (RATIBA_EVAL_BUDGET_USD): '20 USD' is not allowed: "
            "give an amount of US dollars from 0 to 1 million, digits only, such as 20 or 0.50."
        ),
    ]


@pytest.mark.parametrize(
    "text", [".", "./", "/", "..", "reports/..", "../up", ".git", ".GIT/reports", "a/.git/b", "a\0b"]
)
def test_a_report_is_never_written_over_the_checkout_its_history_or_what_is_beside_it(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"report-dir .* is not allowed: give a folder's path"):
        read_settings({"RATIBA_REPORT_DIR": text}, {})


def test_a_report_in_a_workflow_stays_in_the_workspace(tmp_path: Path) -> None:
    workflow = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(tmp_path / "work")}
    inside = str(tmp_path / "work/reports")
    assert read_settings(workflow, {"report-dir": inside}).report_dir == inside
    here = workflow | {"GITHUB_WORKSPACE": str(Path.cwd())}
    assert read_settings(here, {"report-dir": "reports"}).report_dir == "reports"
    with pytest.raises(ConfigurationError, match="give a folder inside the workspace"):
        read_settings(workflow, {"report-dir": str(tmp_path / "elsewhere")})
    with pytest.raises(ConfigurationError, match="not the checkout itself"):
        read_settings(workflow, {"report-dir": str(tmp_path / "work")})


def test_a_report_may_lie_elsewhere_on_a_machine_of_ones_own_and_in_the_actions_container(tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    assert read_settings({}, {"report-dir": elsewhere}).report_dir == elsewhere
    container = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "/workspace", "RATIBA_REPORT_DIR_OUTSIDE": "/runner/x"}
    assert read_settings(container, {"report-dir": elsewhere}).report_dir == elsewhere


def test_secrets_are_neither_printed_nor_put_in_messages() -> None:
    environment = {"RATIBA_DATABASE_URL": "postgresql://u:planted-password@h/d", "RATIBA_GITHUB_TOKEN": "planted-token"}
    settings = read_settings(environment, {})
    assert "planted" not in repr(settings)
    assert settings.secrets == ("postgresql://u:planted-password@h/d", "planted-token")


def test_every_input_is_a_field_and_every_field_an_input() -> None:
    of_the_environment = {"keys_around", "shell_keys", "gitlab_token", "redis_url"}
    of_the_environment |= {"withheld", "why_withheld"}
    assert {entry.attribute for entry in INPUTS} == {field.name for field in fields(Settings)} - of_the_environment


def test_a_shard_is_its_number_and_how_many_there_are() -> None:
    assert read_settings({}, {}).shard is None
    assert read_settings({"RATIBA_SHARD": "2/8"}, {}).shard == Shard(2, 8)


@pytest.mark.parametrize(
    "text", ["2", "0/8", "9/8", "2/0", "-1/8", "2/8/1", "1/257", "two/8", "\u0662/8", "2 /8", "2/"]
)
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"shard .*give NUMBER/COUNT such as 3/8"):
        read_settings({"RATIBA_SHARD": text}, {})


def test_a_run_is_a_shard_or_merges_shards() -> None:
    with pytest.raises(ConfigurationError, match="shard and shards are both given"):
        read_settings({"RATIBA_SHARD": "2/8", "RATIBA_SHARDS": "reports"}, {})


def test_every_secret_input_is_among_the_secrets() -> None:
    secret = [entry for entry in INPUTS if entry.secret]
    values = {entry.environment_variable: f"value of {entry.name}" for entry in secret}
    values["RATIBA_PROVIDER_KEYS"] = "GROQ_API_KEY=value-of-provider-keys"
    values["RATIBA_OTLP_HEADERS"] = "x-team=value-of-otlp-headers"
    values["RATIBA_SLACK_WEBHOOK_URL"] = "https://hooks.example/slack-webhook-url"
    values["RATIBA_WEBHOOK_URL"] = "https://own.example/path/webhook-url"
    values["RATIBA_WEBHOOK_SECRET"] = f"whsec_{SECRET}"
    values["RATIBA_JOURNAL_KEY"] += " with 32 characters"
    servers = {"langfuse-host": "https://langfuse.example", "otlp-endpoint": "https://otel.example"}
    settings = read_settings(values, servers)
    pairs = {"provider-keys", "otlp-headers"}
    webhooks = {"slack-webhook-url", "webhook-url", "webhook-secret"}
    others = pairs | webhooks | {"journal-key"}
    expected = {f"value of {entry.name}" for entry in secret if entry.name not in others}
    expected |= {f"value-of-{name}" for name in pairs} | {SECRET, "slack-webhook-url", "path/webhook-url"}
    expected |= {values["RATIBA_SLACK_WEBHOOK_URL"], values["RATIBA_WEBHOOK_URL"], values["RATIBA_JOURNAL_KEY"]}
    assert set(settings.secrets) == expected


def test_a_key_for_the_journal_that_could_be_guessed_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigurationError, match=r"journal-key .*at least 32 characters") as refused:
        read_settings({"RATIBA_JOURNAL_KEY": "hunter2" * 4}, {})
    assert "hunter2" not in str(refused.value)
    settings = read_settings({"RATIBA_JOURNAL_KEY": "5ea1" * 8}, {})
    assert settings.journal_key == "5ea1" * 8
    assert "5ea1" not in repr(settings)


SECRET = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
WEBHOOK = {"RATIBA_WEBHOOK_URL": "https://own.example/alerts/PLANTED", "RATIBA_WEBHOOK_SECRET": f"whsec_{SECRET}"}


def test_the_addresses_of_webhooks_and_their_secret_are_read_and_not_shown() -> None:
    slack = {"RATIBA_SLACK_WEBHOOK_URL": "https://hooks.slack.com/services/T0/B0/PLANTED"}
    settings = read_settings(WEBHOOK | slack, {})
    assert (settings.webhook_url, len(settings.webhook_secret)) == (WEBHOOK["RATIBA_WEBHOOK_URL"], 24)
    assert read_settings(WEBHOOK | {"RATIBA_WEBHOOK_SECRET": SECRET}, {}).webhook_secret == settings.webhook_secret
    assert "PLANTED" not in repr(settings)
    assert SECRET not in repr(settings)
    assert all(is_secret(name, value) for name, value in (WEBHOOK | slack).items())
    assert not read_settings({"RATIBA_SLACK_WEBHOOK_URL": "http://127.0.0.1:9/a"}, {}).webhook_url


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/PLANTED",
        "https://hooks.example",
        "https://user:PLANTED@hooks.example/x",
        "https://hooks.example:99999/PLANTED",
        "https://hooks.example/PLANTED#x",
        "https://hooks.example/PLANTED x",
        "https://hooks.example/PLANTED\r\nX: y",
        "ftp://127.0.0.1/PLANTED",
    ],
)
@pytest.mark.parametrize("variable", ["RATIBA_SLACK_WEBHOOK_URL", "RATIBA_WEBHOOK_URL"])
def test_an_address_that_a_secret_must_not_go_to_is_refused_and_not_shown(variable: str, url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"its value is not allowed: give an https address") as caught:
        read_settings(WEBHOOK | {variable: url}, {})
    assert "PLANTED" not in str(caught.value)


def test_a_webhook_needs_its_secret_which_is_no_short_or_plain_word() -> None:
    for name, value in WEBHOOK.items():
        with pytest.raises(ConfigurationError, match="give both, or none"):
            read_settings({name: value}, {})
    for secret in ("PLANTED", "whsec_UExBTlRFRA==", "not Base64 at all, but quite long", "whsec_"):
        with pytest.raises(ConfigurationError, match="16 to 128 bytes in Base64") as caught:
            read_settings(WEBHOOK | {"RATIBA_WEBHOOK_SECRET": secret}, {})
        assert "PLANTED" not in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1


def test_a_webhook_behind_a_proxy_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="webhook-url: it cannot be reached: HTTPS_PROXY does not name"):
        read_settings(WEBHOOK | {"HTTPS_PROXY": "socks5://proxy.example:1"}, {})


KEYS = {"RATIBA_LANGFUSE_PUBLIC_KEY": "pk-lf-planted", "RATIBA_LANGFUSE_SECRET_KEY": "sk-lf-planted"}


@pytest.mark.parametrize(
    "host", ["https://cloud.langfuse.com", "http://langfuse:3000/", "https://tools.example/langfuse"]
)
def test_the_address_of_langfuse_is_a_servers(host: str) -> None:
    settings = read_settings(KEYS, {"langfuse-host": host})
    assert settings.langfuse_host == host.rstrip("/")
    assert "planted" not in repr(settings)


@pytest.mark.parametrize(
    "host",
    [
        "langfuse.example",
        "ftp://langfuse.example",
        "https://key:secret@langfuse.example",
        "https://langfuse.example/?a=b",
        "https://langfuse.example/#x",
        "https://langfuse.example)](https://elsewhere.example",
        "https://langfuse.example/a b",
        "javascript:alert(1)",
    ],
)
def test_what_is_no_address_of_a_server_gets_no_keys(host: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_settings(KEYS, {"langfuse-host": host})
    assert str(caught.value).startswith(f"langfuse-host (RATIBA_LANGFUSE_HOST): {host!r} is not allowed")
    assert len(str(caught.value).splitlines()) == 1


def test_langfuse_is_off_without_keys_and_refuses_half_of_them() -> None:
    assert read_settings({}, {"langfuse-host": "https://langfuse.example"}).langfuse_secret_key == ""
    for name, value in KEYS.items():
        with pytest.raises(ConfigurationError, match="the other key is given: give both, or none"):
            read_settings({name: value}, {"langfuse-host": "https://langfuse.example"})
    with pytest.raises(ConfigurationError, match="langfuse-host is empty"):
        read_settings(KEYS, {})


@pytest.mark.parametrize("text", ["0", "-1", "ten", "nan"])
@pytest.mark.parametrize("variable", ["RATIBA_LANGFUSE_SECONDS", "RATIBA_OTLP_SECONDS"])
def test_the_time_for_sending_is_seconds(variable: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{variable}: .* is not allowed: give seconds"):
        read_settings({variable: text}, {})


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("http://otel-collector:4318", "http://otel-collector:4318"),
        ("https://otel.example/otlp/", "https://otel.example/otlp"),
        ("https://otel.example:4318/v1/traces", "https://otel.example:4318"),
        ("https://otel.example/v1/logs", "https://otel.example"),
    ],
)
def test_a_collector_is_named_by_its_base_address_or_by_one_of_its_paths(given: str, read: str) -> None:
    assert read_settings({"RATIBA_OTLP_ENDPOINT": given}, {}).otlp_endpoint == read


@pytest.mark.parametrize(
    "endpoint", ["otel.example:4317", "grpc://otel.example", "https://a:b@otel.example", "https://otel.example:70000"]
)
def test_what_is_no_address_of_a_collector_is_refused(endpoint: str) -> None:
    with pytest.raises(ConfigurationError, match=r"otlp-endpoint .* is not allowed: give the address of a collector"):
        read_settings({"RATIBA_OTLP_ENDPOINT": endpoint}, {})


def test_a_collector_behind_a_proxy_that_is_none_is_refused_rather_than_reached_directly() -> None:
    variables = {"RATIBA_OTLP_ENDPOINT": "https://otel.example", "HTTPS_PROXY": "socks5://user:PLANTED@proxy.example:1"}
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY does not name a proxy") as caught:
        read_settings(variables, {})
    assert "PLANTED" not in str(caught.value)
    assert read_settings(variables | {"NO_PROXY": "otel.example"}, {}).otlp_endpoint
    assert read_settings({"HTTPS_PROXY": variables["HTTPS_PROXY"]}, {}).otlp_endpoint == ""


def headers(text: str) -> Settings:
    return read_settings({"RATIBA_OTLP_HEADERS": text, "RATIBA_OTLP_ENDPOINT": "https://otel.example"}, {})


def test_headers_are_read_as_opentelemetrys_own_variable_is() -> None:
    settings = headers("Authorization=Bearer%20PLANTED-1234, x-scope-orgid = team one,x=a%2Cb=c")
    assert settings.otlp_headers == {"authorization": "Bearer PLANTED-1234", "x-scope-orgid": "team one", "x": "a,b=c"}
    assert "PLANTED" not in repr(settings)
    with pytest.raises(ConfigurationError, match="otlp-endpoint is empty"):
        read_settings({"RATIBA_OTLP_HEADERS": "x-team=PLANTED"}, {})


def test_credentials_in_headers_are_secrets_and_the_others_are_none() -> None:
    settings = headers("authorization=Bearer PLANTED-1234,x-honeycomb-team=PLANTED-5678")
    assert settings.secrets == ("Bearer PLANTED-1234", "PLANTED-1234", "PLANTED-5678")
    harmless = "content-type=application/json,accept=*/*,x-honeycomb-dataset=ratiba,x-scope-orgid=shop,user-agent=ci"
    assert headers(harmless).secrets == ()


@pytest.mark.parametrize(
    "text",
    [
        "PLANTED",
        "=PLANTED",
        "a b=PLANTED",
        "x=PLANTED,X=PLANTED",
        "x=PLANTED%0D%0Ay: z",
        "x=PLANTED\nb",
        "x=PLANTED\u00e9",
        "x=PLANTED%E9",
        "x=",
        "host=PLANTED.example",
        "content-length=7",
        "transfer-encoding=chunked",
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"otlp-headers .*its value is not allowed") as caught:
        headers(text)
    assert "PLANTED" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
