"""Variants of a system: the same code with another model, provider or parameter."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from ratiba_action.config.model_limits import Name, TokenCount
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.settings.input_values import parse_folder
from ratiba_action.util.validation import StrictModel

ARMS = frozenset({"head", "base"})
"""Names of the two sides of a change, which no variant may take."""
VariantName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,39}$", description="also names its recordings")]


class PromptVariant(StrictModel):
    """What a variant changes of a system that is a prompt; what it leaves out stays."""

    file: Name | None = None
    provider: Literal["anthropic", "openai"] | None = None
    model: Name | None = None
    max_output_tokens: TokenCount | None = None
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None

    @field_validator("file")
    @classmethod
    def _file_stays_inside(cls, value: str | None) -> str | None:
        return None if value is None else parse_folder(value)


class VariantBlock(StrictModel):
    """What differs from the system as it stands."""

    environment: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], str] = Field(
        default_factory=dict, description="variables, such as the name of a model; no keys"
    )
    prompt: PromptVariant | None = None

    @property
    def differences(self) -> tuple[str, ...]:
        """Each thing that differs, ``name=value``, sorted."""
        prompt = self.prompt.model_dump(exclude_none=True) if self.prompt is not None else {}
        changed = {**self.environment, **{f"prompt.{name}": value for name, value in prompt.items()}}
        return tuple(f"{name}={value}" for name, value in sorted(changed.items()))

    @field_validator("environment")
    @classmethod
    def _no_credentials(cls, value: dict[str, str]) -> dict[str, str]:
        found = sorted(name for name, text in value.items() if find_credentials(text))
        if found:
            # The value is not repeated.
            msg = f"{', '.join(found)} looks like a credential, which has no place here"
            raise ValueError(msg)
        return value

    @model_validator(mode="after")
    def _differs(self) -> Self:
        if not self.differences:
            msg = "a variant that changes nothing; give environment or prompt"
            raise ValueError(msg)
        return self
