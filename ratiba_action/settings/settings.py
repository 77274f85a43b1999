"""Inputs → ``Settings``; all their problems reported together.

Each input is an environment variable and, unless it is a secret, an option of ``ratiba gate``.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ratiba_action.errors import ConfigurationError
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import FLOORS, Mode
from ratiba_action.model.shard import Shard
from ratiba_action.model.values import Usd
from ratiba_action.settings.input_values import (
    LIVE,
    credentials_of,
    parse_base_url,
    parse_baseline,
    parse_collector,
    parse_flag,
    parse_folder,
    parse_headers,
    parse_journal_key,
    parse_langfuse_host,
    parse_llm,
    parse_mode_floor,
    parse_name,
    parse_pull_request,
    parse_shard,
    parse_usd,
    parse_webhook_secret,
    parse_webhook_url,
)
from ratiba_action.settings.provider_keys import BUILT_IN, keys_in, parse_provider_keys, shell_keys
from ratiba_action.settings.report_folder import misplaced_report_folder, parse_report_folder
from ratiba_action.settings.run_deadline import (
    DEADLINE,
    LANGFUSE_SECONDS,
    OTLP_SECONDS,
    problems_of_deadline,
    problems_of_seconds,
)
from ratiba_action.util.proxy import proxy_for

GITLAB_TOKEN = "RATIBA_GITLAB_TOKEN"  # noqa: S105 - the name of a variable
"""Variable with the token that writes a merge request's note."""

REDIS_URL = "RATIBA_REDIS_URL"
"""Variable with the address of the Redis that has the shares of canaries; it may hold a password."""

CACHE_FOLDER = "RATIBA_CACHE_DIR"
"""Where scores of judges are kept between runs; of a variable alone, since no action has a folder that stays."""
ENGINE = "RATIBA_ENGINE"
"""Path of the socket of the action's program that starts containers of the system; its key is ``ENGINE_KEY``."""
ENGINE_KEY = "RATIBA_ENGINE_KEY"
_OTHER_VARIABLES = frozenset(
    {
        ENGINE,
        ENGINE_KEY,
        GITLAB_TOKEN,
        REDIS_URL,
        CACHE_FOLDER,
        "RATIBA_DEBUG",
        # The action's own, which say how its container is placed.
        "RATIBA_CONFIG_CHANGED",
        "RATIBA_CONTAINER",
        "RATIBA_COMMANDS",
        "RATIBA_CONTAINER_NETWORK",
        DEADLINE,
        "RATIBA_ENDED",
        "RATIBA_IMAGE",
        LANGFUSE_SECONDS,
        OTLP_SECONDS,
        "RATIBA_JOB_NETWORK",
        "RATIBA_SEAL",
        "RATIBA_SEAL_KEY",
        "RATIBA_SEALED_JOURNALS",
        "RATIBA_EARLIER_JOURNALS",
        "RATIBA_SECRETS",
        "RATIBA_REPORT_DIR_OUTSIDE",
    }
)


SCENARIOS = "scenarios"
"""The folder of scenarios where no input names another one."""
SOURCES = ("auto", "replay", "live")
"""What ``llm`` may be."""

_MIN_PATH = 12
"""Characters of a webhook's path that is a key; a shorter one may be any word."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the gate.

    Args:
        name: as in action.yml.
        default: its text when it is not given.
        parse: text to value; raises ValueError with what is allowed.
        help: one line for people.
        secret: never an option, never printed.
        variable: environment variable; default ``RATIBA_<NAME>``.
        choices: all that it may be; empty where that is no closed set.
    """

    name: str
    default: str
    parse: Callable[[str], Any]
    help: str
    secret: bool = False
    variable: str = ""
    choices: tuple[str, ...] = ()

    @property
    def metavar(self) -> str:
        """What ``--help`` shows for its value."""
        return f"{{{','.join(self.choices)}}}" if self.choices else "VALUE"

    @property
    def option_help(self) -> str:
        """What ``--help`` says of its option, with its default and its variable."""
        default = f"default: {self.default}; " if self.default else ""
        return f"{self.help} ({default}{self.environment_variable})"

    @property
    def environment_variable(self) -> str:
        """Name of the environment variable."""
        return self.variable or "RATIBA_" + self.name.upper().replace("-", "_")

    @property
    def attribute(self) -> str:
        """Name of the field in ``Settings``."""
        return self.name.replace("-", "_")


INPUTS: tuple[Input, ...] = (
    Input("config", ".github/ratiba.yml", parse_folder, "the gate's configuration file"),
    Input("scenarios", SCENARIOS, parse_folder, "folder of the golden scenarios"),
    Input("rules", "", str, "one 'mode pattern…' per line; empty: the built-in matrix"),
    Input("mode", "auto", parse_mode_floor, "auto, or the minimum: advisory, blocking", choices=FLOORS),
    Input("enforce", "true", parse_flag, "false: trial period, failures do not block", choices=("true", "false")),
    Input("name", "ratiba", parse_name, "name of this gate; each has its own comment"),
    Input("pull-request", "", parse_pull_request, "number of the pull request to evaluate, for a manual run"),
    Input("budget-usd", "20", parse_usd, "maximum cost of this run in US dollars", variable="RATIBA_EVAL_BUDGET_USD"),
    Input(
        "monthly-budget-usd",
        "300",
        parse_usd,
        "maximum cost of a calendar month, over all runs with the same ledger-url",
        variable="RATIBA_EVAL_MONTHLY_BUDGET_USD",
    ),
    Input("database-url", "", str, "PostgreSQL for the tenants; empty: the gate starts a server", secret=True),
    Input(
        "ledger-url",
        "",
        str,
        "PostgreSQL that keeps cost and history of many runs; empty: each run stands alone",
        secret=True,
    ),
    Input(
        "llm",
        "auto",
        parse_llm,
        "where model answers come from: auto, replay or live",
        choices=("auto", "replay", "live"),
    ),
    Input("anthropic-api-key", "", str, "key for Anthropic's models", secret=True),
    Input("openai-api-key", "", str, "key for OpenAI's models", secret=True),
    Input(
        "provider-keys",
        "",
        parse_provider_keys,
        "keys of the configuration's providers, as NAME=value",
        secret=True,
    ),
    Input("anthropic-base-url", "", parse_base_url, "base URL for Anthropic's API, if not Anthropic's own"),
    Input("openai-base-url", "", parse_base_url, "base URL for OpenAI's API, or for a server with the same protocol"),
    Input("langfuse-host", "", parse_langfuse_host, "URL of Langfuse; without its keys, nothing is sent"),
    Input("langfuse-public-key", "", str, "public key of a Langfuse project", secret=True),
    Input("langfuse-secret-key", "", str, "secret key of the same Langfuse project", secret=True),
    Input(
        "otlp-endpoint", "", parse_collector, "OpenTelemetry collector (OTLP over HTTP) that receives spans and scores"
    ),
    Input("otlp-headers", "", parse_headers, "headers for the collector, as name=value,name=value", secret=True),
    Input("slack-webhook-url", "", parse_webhook_url, "incoming webhook of Slack that receives alerts", secret=True),
    Input("webhook-url", "", parse_webhook_url, "your own webhook that receives alerts", secret=True),
    Input(
        "webhook-secret",
        "",
        parse_webhook_secret,
        "secret that signs the alerts to webhook-url, in Base64",
        secret=True,
    ),
    Input(
        "journal-key",
        "",
        parse_journal_key,
        "secret for the copy of an interrupted run, so that its re-run pays nothing twice; needs two more steps",
        secret=True,
    ),
    Input("baseline", "auto", parse_baseline, "results to compare with: auto, none, or a path to earlier results"),
    Input("shard", "", parse_shard, "run only this share of the suite, such as 2/8; ratiba merge decides"),
    Input("shards", "", str, "folder with the reports of all shards, to merge them instead of running scenarios"),
    Input("comment", "true", parse_flag, "whether to write the pull request's comment", choices=("true", "false")),
    Input("report-dir", "ratiba-report", parse_report_folder, "folder for the reports"),
    Input("github-token", "", str, "token that reads the pull request and writes the comment", secret=True),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Every input, checked. Field names are the inputs' with ``_``."""

    config: str
    scenarios: str
    rules: str
    mode: Mode
    enforce: bool
    name: str
    pull_request: str
    budget_usd: Usd
    monthly_budget_usd: Usd
    llm: Llm
    anthropic_base_url: str
    openai_base_url: str
    baseline: str
    shard: Shard | None
    shards: str
    comment: bool
    report_dir: str
    database_url: str = field(default="", repr=False)
    ledger_url: str = field(default="", repr=False)
    anthropic_api_key: str = field(default="", repr=False)
    openai_api_key: str = field(default="", repr=False)
    provider_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    keys_around: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the environment: used where the configuration names one, masked in any case."""
    shell_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By provider: used only where live calls were asked for."""
    withheld: tuple[str, ...] = field(default=(), repr=False)
    """Secrets that are masked and not used."""
    why_withheld: str = ""
    """Why there is no secret to use; empty where what was given is used."""
    langfuse_host: str = ""
    langfuse_public_key: str = field(default="", repr=False)
    langfuse_secret_key: str = field(default="", repr=False)
    otlp_endpoint: str = ""
    otlp_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    slack_webhook_url: str = field(default="", repr=False)
    webhook_url: str = field(default="", repr=False)
    webhook_secret: bytes = field(default=b"", repr=False)
    journal_key: str = field(default="", repr=False)
    github_token: str = field(default="", repr=False)
    gitlab_token: str = field(default="", repr=False)
    """Of a variable alone: the action runs on GitHub."""
    redis_url: str = field(default="", repr=False)
    """Of a variable alone: only ``ratiba canary`` uses it."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must never be published."""
        given = (
            self.database_url,
            self.ledger_url,
            self.anthropic_api_key,
            self.openai_api_key,
            self.langfuse_public_key,
            self.langfuse_secret_key,
            *credentials_of(self.otlp_headers),
            *_parts(self.slack_webhook_url),
            *_parts(self.webhook_url),
            b64encode(self.webhook_secret).decode("ascii"),
            self.journal_key,
            self.github_token,
            self.gitlab_token,
            *_parts(self.redis_url),
            *self.named_keys.values(),
            *self.withheld,
        )
        return tuple(dict.fromkeys(value for value in given if value))

    def without_secrets(self, why: str) -> "Settings":
        """The same inputs with nothing to spend or to sign in with; what was given stays masked."""
        emptied = {entry.attribute: entry.parse("") for entry in INPUTS if entry.secret}
        around: dict[str, Any] = {"keys_around": {}, "shell_keys": {}, "gitlab_token": "", "redis_url": ""}
        return replace(self, **emptied, **around, withheld=self.secrets, why_withheld=why)

    @property
    def named_keys(self) -> dict[str, str]:
        """Keys that the configuration may name, by their variable."""
        return {**self.keys_around, **self.provider_keys}

    @property
    def keys(self) -> dict[str, str]:
        """The keys that were given, by provider; with ``--llm live`` and ``record`` those of the shell too.

        A key of the shell is there for other programs: only who asks for live calls asks for it to be spent.
        """
        given: dict[str, str] = {provider: getattr(self, f"{provider}_api_key") for provider in BUILT_IN}
        asked = self.shell_keys if self.llm in LIVE else {}
        return {**asked, **{provider: key for provider, key in given.items() if key}}

    @property
    def base_urls(self) -> dict[str, str]:
        """The addresses that were given, by provider."""
        return {provider: getattr(self, f"{provider}_base_url") for provider in BUILT_IN}


def _parts(url: str) -> tuple[str, ...]:
    """An address, its path, by which a webhook's could be made again, and its password."""
    rest = url.partition("://")[2]
    path, password = rest.partition("/")[2], rest.rpartition("@")[0].partition(":")[2]
    return url, *(part for part in (path, password) if len(part) >= _MIN_PATH)


def read_settings(environment: Mapping[str, str], options: Mapping[str, str | None]) -> Settings:
    """Read every input from an option, else its variable, else its default.

    Args:
        options: values from the command line by input name; None where not given.

    Raises:
        ConfigurationError: one or more inputs are wrong; names each with its value and what is allowed.
    """
    settings, problems = read_settings_leniently(environment, options)
    if problems:
        raise ConfigurationError("\n".join(problems))
    return settings


def read_settings_leniently(
    environment: Mapping[str, str], options: Mapping[str, str | None]
) -> tuple[Settings, tuple[str, ...]]:
    """The same, with the default instead of a wrong input: enough to publish what is wrong.

    Returns:
        Settings that must not be run with unless there is no problem, and the problems.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for entry in INPUTS:
        text = options.get(entry.name)
        if text is None:
            text = environment.get(entry.environment_variable) or _default(entry)
        try:
            value = entry.parse(text.strip())
            if entry.name == "report-dir" and (allowed := misplaced_report_folder(value, environment)):
                raise ValueError(allowed)  # noqa: TRY301 - reported like every other wrong value
        except ValueError as error:
            value = entry.parse(entry.default)
            shown = "its value" if entry.secret else repr(text)
            problems.append(f"{entry.name} ({entry.environment_variable}): {shown} is not allowed: give {error}.")
        values[entry.attribute] = value
    gitlab_token = environment.get(GITLAB_TOKEN, "").strip()
    around, of_shell = keys_in(environment), shell_keys(environment)
    redis_url = environment.get(REDIS_URL, "").strip()
    settings = Settings(
        **values, keys_around=around, shell_keys=of_shell, gitlab_token=gitlab_token, redis_url=redis_url
    )
    problems += problems_of_deadline(environment)
    problems += problems_of_seconds(LANGFUSE_SECONDS, environment)
    problems += problems_of_seconds(OTLP_SECONDS, environment)
    problems += _problems_of_langfuse(
        settings, host_is_wrong=any(problem.startswith("langfuse-host") for problem in problems)
    )
    problems += _problems_of_pairs(settings, tuple(problems))
    if settings.shard is not None and settings.shards:
        problems.append("shard and shards are both given: give shard to run a share, or shards to merge the shares.")
    problems += _problems_of_proxy(settings, environment)
    return settings, tuple(problems)


def _default(entry: Input) -> str:
    """An input's default; in a folder below a repository's root, the report is written to the root all the same."""
    from ratiba_action.util.git import find_checkout  # --help does not read any input

    if entry.name != "report-dir" or (root := find_checkout(Path())) in (None, Path.cwd()):
        return entry.default
    return str(root / entry.default)


def _problems_of_pairs(settings: Settings, others: Sequence[str]) -> Iterator[str]:
    """An input that needs another one; what is wrong already is not reported twice."""
    for name, needed in (
        ("otlp-headers", "otlp-endpoint"),
        ("webhook-url", "webhook-secret"),
        ("webhook-secret", "webhook-url"),
    ):
        given, there = (getattr(settings, each.replace("-", "_")) for each in (name, needed))
        if given and not there and not any(problem.startswith(f"{needed} ") for problem in others):
            yield f"{needed} is empty, and {name} is given: give both, or none."


def _problems_of_proxy(settings: Settings, environment: Mapping[str, str]) -> Iterator[str]:
    """A proxy that cannot be used: a connection that bypasses it would be made in silence."""
    for name in ("otlp-endpoint", "slack-webhook-url", "webhook-url"):
        try:
            proxy_for(getattr(settings, name.replace("-", "_")), environment)
        except ValueError as error:
            yield f"{name}: it cannot be reached: {error}."


def _problems_of_langfuse(settings: Settings, *, host_is_wrong: bool) -> tuple[str, ...]:
    """Keys that are no whole, with which every trace would be left out in silence."""
    keys = {"langfuse-public-key": settings.langfuse_public_key, "langfuse-secret-key": settings.langfuse_secret_key}
    missing = [name for name, value in keys.items() if not value]
    if len(missing) == 1:
        return (f"{missing[0]} is empty, and the other key is given: give both, or none.",)
    if not missing and not settings.langfuse_host and not host_is_wrong:
        return ("langfuse-host is empty, and its keys are given: give the server's address.",)
    return ()


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that look like inputs and are none, such as a misspelt one."""
    known = {entry.environment_variable for entry in INPUTS} | _OTHER_VARIABLES
    return tuple(sorted(name for name in environment if name.startswith("RATIBA_") and name not in known))
