"""Reads ``.github/ratiba.yml`` into a ``Configuration``; reports every mistake at once, with its line."""

import re
from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from ratiba_action.checks.row_checks import query_problem
from ratiba_action.config.metrics_block import MetricsBlock
from ratiba_action.config.model_limits import ModelsBlock, Name
from ratiba_action.config.providers_block import ProviderBlock, ProviderName
from ratiba_action.config.renamed_keys import read_current
from ratiba_action.config.suite_block import ComparisonBlock, SuiteBlock
from ratiba_action.config.system_block import SystemBlock
from ratiba_action.config.system_kinds import PathInside
from ratiba_action.errors import ConfigurationError, SuiteError
from ratiba_action.llm.endpoints import FORMATS
from ratiba_action.model.comparison import Figure, Rules
from ratiba_action.model.note import AlertKind
from ratiba_action.model.published import Transcripts
from ratiba_action.model.verdict import InAdvisory, PassRateRule
from ratiba_action.money.pricing import BuiltInTool
from ratiba_action.settings.provider_keys import BUILT_IN, JUDGES
from ratiba_action.settings.report_folder import parse_report_folder
from ratiba_action.util.git import is_branch_name
from ratiba_action.util.instants import zone_problem
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.validation import StrictModel, validate

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_FIRST, _SECOND = BUILT_IN
"""Whose models judge and cross-check unless the configuration names others."""
PricePerMillion = Annotated[Decimal, Field(gt=0, allow_inf_nan=False, strict=False)]
PricePerCall = Annotated[Decimal, Field(ge=0, le=1_000, allow_inf_nan=False, strict=False)]


class CrossCheckBlock(StrictModel):
    """The second judge, which scores a sample of what the first one scored."""

    provider: Name = _SECOND
    model: Name = JUDGES[_SECOND]
    share: Share = Field(default=0.10, description="share of the new judged scores")


class JudgeBlock(StrictModel):
    """The model that scores, and how its scores are checked."""

    provider: Name = _FIRST
    model: Name = JUDGES[_FIRST]
    band: Share | None = Field(
        default=None,
        description="a first score this close to its threshold is measured `votes` times; null: two standard "
        "deviations of the judge's noise in the metrics history, 0.05 until 30 repeated scores are there",
    )
    votes: Annotated[int, Field(ge=1, le=9)] = 3
    samples: Annotated[int, Field(ge=1, le=9)] = Field(
        default=1, description="measurements whose mean is one score, for judges of few levels; more than 1: no votes"
    )
    cross_check: CrossCheckBlock | None = Field(default_factory=CrossCheckBlock, description="null: no cross-check")

    @field_validator("votes")
    @classmethod
    def _votes_have_a_majority(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError(f"{value} votes have no majority; give an odd number")
        return value


class SimulatorBlock(StrictModel):
    """The model that plays the customer in scenarios with a ``simulated_user``."""

    provider: Name = _FIRST
    model: Name = "claude-haiku-4-5"


class Exceeded(StrEnum):
    """What a run does that exceeds a limit."""

    WARN = "warn"
    BLOCK = "block"


class PriceBlock(StrictModel):
    """Price of a model that the built-in price list does not know, in US dollars."""

    free: Literal[True] | None = Field(default=None, description="true: a model that you host yourself; no prices then")
    input_per_million: PricePerMillion | None = Field(default=None, description="required unless the model is free")
    output_per_million: PricePerMillion | None = Field(default=None, description="required unless the model is free")
    cache_read_per_million: PricePerMillion | None = None
    cache_write_per_million: PricePerMillion | None = None
    per_call_usd: PricePerCall | None = Field(
        default=None, description="maximum cost of a call besides its tokens, such as searches; 0 for none"
    )
    tool_call_usd: dict[Annotated[BuiltInTool, Field(strict=False)], PricePerCall] | None = Field(
        default=None, description="maximum cost of one call of a tool that OpenAI runs, by tool; without it, refused"
    )
    context_tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(
        default=None, description="context window of the model, where the price list does not know it"
    )

    @model_validator(mode="after")
    def _is_free_or_priced(self) -> Self:
        given = self.model_fields_set - {"free"}
        if self.free and given:
            raise ValueError(f"a free model has no {', '.join(sorted(given))}; remove the prices or free")
        if not self.free and (self.input_per_million is None or self.output_per_million is None):
            msg = "give input_per_million and output_per_million, or free: true for a model that you host yourself"
            raise ValueError(msg)
        return self


_PERCENT = re.compile(r"\+?(\d{1,5}(?:\.\d{1,3})?) ?%")


def _read_percent(value: Any) -> Any:
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{value!r} is no percentage; write it as 20 %")
    return float(found[1]) / 100


Percent = Annotated[float, BeforeValidator(_read_percent, json_schema_input_type=str)]


class LimitsBlock(StrictModel):
    """How much more than on the base a conversation may take, on average."""

    cost_increase: Percent | None = Field(default=None, description="of the model calls' cost, such as 20 %")
    calls_increase: Percent | None = Field(default=None, description="of the number of model calls")
    latency_increase: Percent | None = Field(
        default=None, description="of the seconds from a message to its reply, where answers are live"
    )
    exceeded: Annotated[Exceeded, Field(strict=False)] = Field(
        default=Exceeded.WARN, description="warn: the comment says so; block: the run fails"
    )

    @property
    def increases(self) -> dict[str, float]:
        """The limits that are set, by figure."""
        limits = {
            Figure.USD: self.cost_increase,
            Figure.CALLS: self.calls_increase,
            Figure.SECONDS: self.latency_increase,
        }
        return {figure: limit for figure, limit in limits.items() if limit is not None}


class CriticalBlock(StrictModel):
    """What critical scenarios do besides."""

    advisory: Annotated[InAdvisory, Field(strict=False)] = Field(
        default=InAdvisory.BLOCK,
        description="a deterministic failure that the base does not have, in an advisory run: block, or allow",
    )


class AttributionBlock(StrictModel):
    """How far a failed run looks for the lines of the change that make its scenarios fail."""

    enabled: bool = True
    budget_usd: (
        Annotated[Decimal, Field(ge=0, le=1_000, decimal_places=6, allow_inf_nan=False, strict=False)] | None
    ) = Field(default=None, description="maximum cost; null: 25 % of what the run has left of its budget")
    max_steps: Annotated[int, Field(ge=1, le=500)] = Field(
        default=30, description="maximum number of runs with parts of the change"
    )


class EventsBlock(StrictModel):
    """Where ``events.jsonl`` is written."""

    directory: Annotated[str, AfterValidator(parse_report_folder)] | None = Field(
        default=None, description="folder for the events of all runs; default: the report directory"
    )


class NotificationsBlock(StrictModel):
    """Which events are sent to the addresses of ``slack-webhook-url`` and ``webhook-url``."""

    events: list[Annotated[AlertKind, Field(strict=False)]] = Field(
        default_factory=lambda: sorted({*AlertKind} - {AlertKind.PASSED}),
        description="default: all except passed; an empty list sends nothing",
    )
    on_success: bool = Field(default=False, description="a run that passed is an event too, `passed`")

    @property
    def kinds(self) -> tuple[AlertKind, ...]:
        """The events that are sent."""
        return tuple(dict.fromkeys([*self.events, *([AlertKind.PASSED] if self.on_success else [])]))

    @field_validator("events")
    @classmethod
    def _each_once(cls, value: list[AlertKind]) -> list[AlertKind]:
        if len(set(value)) < len(value):
            raise ValueError("an event is listed twice; list each once")
        return value


class SiteBlock(StrictModel):
    """What ``ratiba site`` and ``ratiba report --to-branch`` publish, and where."""

    url: Annotated[str, Field(pattern=r"^(https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?)?$")] = Field(
        default="", description="https address of the site; the pull request's comment then links it"
    )
    transcripts: Annotated[Transcripts, Field(strict=False)] = Field(
        default=Transcripts.NONE,
        description="conversations, and texts that quote them: none, failing (of trials that failed), or all",
    )


class HistoryBlock(StrictModel):
    """Where a run without a ledger finds earlier runs."""

    branch: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$")] | None = Field(
        default=None,
        description="branch of this repository that `ratiba report --to-branch` keeps runs on; used without ledger-url",
    )

    @field_validator("branch")
    @classmethod
    def _is_a_branch(cls, value: str | None) -> str | None:
        if value is not None and not is_branch_name(value):
            raise ValueError(f"{value!r} is no name of a branch; give one such as ratiba-history")
        return value


def _known_zone(name: str) -> str:
    problem = zone_problem(name)
    if problem:
        raise ValueError(problem)
    return name


class Configuration(StrictModel):
    """The gate's configuration of a repository."""

    system: SystemBlock
    timezone: Annotated[Name, AfterValidator(_known_zone)] | None = Field(
        default=None, description="IANA name of the zone of scenarios whose `now` names none, such as Europe/Paris"
    )
    tests: list[PathInside] = Field(
        default_factory=list,
        max_length=100,
        description="pytest files, and folders of them, that run as scenarios; paths in the repository",
    )
    rows: dict[Name, Name] = Field(default_factory=dict, description="SQL read from a tenant after a conversation")
    judge: JudgeBlock = Field(default_factory=JudgeBlock)
    simulator: SimulatorBlock = Field(default_factory=SimulatorBlock)
    models: ModelsBlock = Field(default_factory=ModelsBlock)
    pass_rate: Share = 0.80
    pass_rate_rule: Annotated[PassRateRule, Field(strict=False)] = Field(
        default=PassRateRule.INTERVAL,
        description="interval: a share below pass_rate fails when chance does not explain it; strict: always",
    )
    suite: SuiteBlock = Field(default_factory=SuiteBlock)
    metrics: MetricsBlock = Field(default_factory=MetricsBlock)
    comparison: ComparisonBlock = Field(default_factory=ComparisonBlock)
    limits: LimitsBlock = Field(default_factory=LimitsBlock)
    critical: CriticalBlock = Field(default_factory=CriticalBlock)
    attribution: AttributionBlock = Field(default_factory=AttributionBlock)
    dependencies: list[Name] | None = Field(
        default=None, description="packages whose version changes count; default: all"
    )
    providers: dict[ProviderName, ProviderBlock] = Field(
        default_factory=dict, description="further endpoints, by the name that judge and simulator refer to"
    )
    prices: dict[Name, PriceBlock] = Field(default_factory=dict)
    events: EventsBlock = Field(default_factory=EventsBlock)
    notifications: NotificationsBlock = Field(default_factory=NotificationsBlock)
    site: SiteBlock = Field(default_factory=SiteBlock)
    history: HistoryBlock = Field(default_factory=HistoryBlock)

    @model_validator(mode="after")
    def _rows_need_a_database(self) -> Self:
        if self.rows and not self.system.has_database:
            msg = (
                f"rows are read from a database, but a system of kind {self.system.kind!r} has none"
                " unless system.database is true"
            )
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _providers_are_known(self) -> Self:
        second = self.judge.cross_check
        named = {"judge": self.judge.provider, "simulator": self.simulator.provider}
        named |= {"judge.cross_check": second.provider} if second is not None else {}
        prompts = {f"system.variants.{name}.prompt": each.prompt for name, each in self.system.variants.items()}
        for name, prompt in {"system.prompt": self.system.prompt, **prompts}.items():
            named |= {name: prompt.provider} if prompt is not None and prompt.provider is not None else {}
        known = (*BUILT_IN, *self.providers)
        unknown = [f"{block}.provider is {name!r}" for block, name in named.items() if name not in known]
        if unknown:
            raise ValueError(f"{', '.join(unknown)}; declared are {', '.join(known)}. Declare it under providers")
        return self

    @field_validator("providers")
    @classmethod
    def _built_in_names_are_taken(cls, value: dict[str, ProviderBlock]) -> dict[str, ProviderBlock]:
        taken = [name for name in BUILT_IN if name in value]
        if taken:
            msg = f"{' and '.join(taken)} cannot be declared; give the input {taken[0]}-base-url, or use another name"
            raise ValueError(msg)
        for name, block in value.items():
            if name in FORMATS and block.api != name:
                msg = f"{name} is the name of api: {name}, and this is {block.api}; use another name, or api: {name}"
                raise ValueError(f"{msg} without a base_url")
        return value

    @field_validator("providers")
    @classmethod
    def _one_gateway_provider_a_format(cls, value: dict[str, ProviderBlock]) -> dict[str, ProviderBlock]:
        for wire in FORMATS:
            named = [name for name, block in value.items() if block.gateway and block.wire == wire]
            if len(named) > 1:
                raise ValueError(f"{' and '.join(named)} all say gateway: true for the format of {wire}; one may")
        return value

    @property
    def gateway_routes(self) -> dict[str, str]:
        """The provider that answers the system's calls, by their format; the provider of that name where none is."""
        return {block.wire: name for name, block in self.providers.items() if block.gateway}

    @property
    def system_models(self) -> frozenset[tuple[str, str]]:
        """Every model that the configuration itself names for the system, with the provider that answers its calls."""
        return self._answered(self.system)

    def variant_models(self, names: Iterable[str]) -> frozenset[tuple[str, str]]:
        """The same of the system's variants with these names; of a name that none has, nothing."""
        known = [name for name in names if name in self.system.variants]
        return frozenset[tuple[str, str]]().union(*(self._answered(self.system.as_variant(name)) for name in known))

    def _answered(self, system: SystemBlock) -> frozenset[tuple[str, str]]:
        routes = self.gateway_routes
        return frozenset((model, routes.get(provider, provider)) for model, provider in system.models)

    def wire_of(self, provider: str) -> str:
        """Whose format requests to a provider have, a name in ``FORMATS``."""
        return self.providers[provider].wire if provider in self.providers else provider

    @model_validator(mode="after")
    def _prompt_output_is_allowed(self) -> Self:
        prompt = self.system.prompt
        if prompt is not None and prompt.max_output_tokens > self.models.output_of(prompt.model)[1]:
            maximum = self.models.output_of(prompt.model)[1]
            msg = f"system.prompt.max_output_tokens is {prompt.max_output_tokens}, but models allows {maximum}"
            raise ValueError(msg)
        return self

    @field_validator("rows")
    @classmethod
    def _rows_are_single_queries(cls, value: dict[str, str]) -> dict[str, str]:
        for name, query in value.items():
            problem = query_problem(query)
            if problem:
                raise ValueError(f"the query {name!r} {problem}")
        return value


def read_configuration(name: str, content: bytes) -> Configuration:
    """Decode and check a configuration file.

    Raises:
        SuiteError: the file is wrong; holds every problem.
    """
    document, problems = read_current(name, content)
    if document is not None:
        configuration, found = validate(Configuration, document)
        problems = (*problems, *found)
        if configuration is not None and not problems:
            return configuration
    raise SuiteError(problems)


def load_configuration(repository: Path, name: str) -> Configuration:
    """Read a checkout's configuration file.

    Args:
        name: path of the file below it.

    Raises:
        SuiteError: the file is wrong; holds every problem.
        ConfigurationError: it is not there, or cannot be read.
    """
    try:
        content = read_plain_file(repository, name)
    except OSError as error:
        raise unreadable_configuration(name, error) from error
    return read_configuration(name, content)


def configured_rules(repository: Path, name: str, *, required: bool) -> Rules:
    """The rules of the ``comparison`` section.

    Args:
        name: path of the configuration below it.
        required: whether the file must exist; if not, the defaults apply without it.

    Raises:
        SuiteError: the file is wrong; holds every problem.
        ConfigurationError: it cannot be read.
    """
    configuration = optional_configuration(repository, name, required=required)
    return Rules() if configuration is None else configuration.comparison.rules


def optional_configuration(repository: Path, name: str, *, required: bool) -> Configuration | None:
    """The configuration; None if there is none and none is required. The arguments are those of ``configured_rules``.

    Raises:
        SuiteError: the file is wrong; holds every problem.
        ConfigurationError: it cannot be read.
    """
    try:
        content = read_plain_file(repository, name)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not required:
            return None
        raise unreadable_configuration(name, error) from error
    return read_configuration(name, content)


def unreadable_configuration(name: str, error: OSError) -> ConfigurationError:
    """The error for a configuration file that is missing or cannot be read."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ConfigurationError(
            f"This repository has no configuration for the gate: the file {name!r} does not exist.",
            "Run: ratiba init. It writes one, with a first scenario and the workflow. Or give another file with "
            "--config.",
        )
    return ConfigurationError(
        f"The configuration {name!r} cannot be read: {error.strerror}.",
        "Make it a readable plain file, or give another with --config.",
    )
