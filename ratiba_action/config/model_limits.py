"""The ``models`` section of the configuration: limits of output tokens, retries and waits."""

from typing import Annotated, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ratiba_action.util.validation import StrictModel

_USUAL_OUTPUT = 8_192

TokenCount = Annotated[int, Field(ge=1, le=1_000_000)]
Name = Annotated[str, Field(min_length=1, max_length=1_000)]


class ModelOutputBlock(StrictModel):
    """Output tokens of one model, if they differ from the general limits."""

    max_output_tokens: TokenCount | None = None
    default_output_tokens: TokenCount | None = None


class ModelsBlock(StrictModel):
    """Limits of every model call, including judges."""

    max_output_tokens: TokenCount = Field(default=64_000, description="a request for more is refused")
    default_output_tokens: TokenCount | None = Field(
        default=None, description="limit of a request without one; default: 8192, or max_output_tokens if that is less"
    )
    overrides: dict[Name, ModelOutputBlock] = Field(default_factory=dict, description="by the model's name")
    retries: Annotated[int, Field(ge=0, le=10)] = Field(default=3, description="after the first attempt")
    longest_wait_seconds: Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)] = Field(
        default=60.0, description="maximum wait before a retry; a call is not retried if the provider asks for more"
    )
    timeout_seconds: Annotated[float, Field(ge=1, le=3_600, allow_inf_nan=False)] = Field(
        default=120.0, description="time until the last byte of an answer"
    )
    connect_timeout_seconds: Annotated[float, Field(gt=0, le=300, allow_inf_nan=False)] = 10.0

    @field_validator("default_output_tokens")
    @classmethod
    def _default_is_allowed(cls, value: int | None, info: ValidationInfo) -> int | None:
        maximum = info.data.get("max_output_tokens")
        if value is not None and maximum is not None and value > maximum:
            raise ValueError(f"{value} is more than max_output_tokens, which is {maximum}")
        return value

    @field_validator("overrides")
    @classmethod
    def _defaults_of_models_are_allowed(
        cls, value: dict[str, ModelOutputBlock], info: ValidationInfo
    ) -> dict[str, ModelOutputBlock]:
        general = info.data.get("max_output_tokens")
        wrong = [
            f"{name}: default_output_tokens {own.default_output_tokens} is more than its max_output_tokens, {maximum}"
            for name, own in value.items()
            if own.default_output_tokens is not None
            and (maximum := own.max_output_tokens or general) is not None
            and own.default_output_tokens > maximum
        ]
        if wrong:
            raise ValueError("; ".join(wrong))
        return value

    @model_validator(mode="after")
    def _connecting_is_part_of_the_whole(self) -> Self:
        if self.connect_timeout_seconds > self.timeout_seconds:
            raise ValueError(f"connect_timeout_seconds {self.connect_timeout_seconds:g} is more than timeout_seconds")
        return self

    def output_of(self, model: str = "") -> tuple[int, int]:
        """Default and maximum output tokens of a request.

        Args:
            model: its name; empty for a model without its own limits.
        """
        own = self.overrides.get(model, ModelOutputBlock())
        maximum = own.max_output_tokens or self.max_output_tokens
        return min(own.default_output_tokens or self.default_output_tokens or _USUAL_OUTPUT, maximum), maximum
