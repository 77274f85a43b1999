"""Bodies and answers held against the models of Langfuse's own client."""

from typing import Any


def problem_with(model: Any, content: Any) -> str:
    """Why some JSON is not what a model describes; empty when it is.

    A field that the model does not name is a problem too, which the client itself would let pass.
    """
    from langfuse.api.core.pydantic_utilities import parse_obj_as
    from pydantic import ValidationError  # beside it

    try:
        read = parse_obj_as(model, content)
    except ValidationError as error:
        return f"{getattr(model, '__name__', model)}: {error}"
    surplus = sorted(getattr(read, "model_extra", None) or ())
    return f"{type(read).__name__} knows no {', '.join(surplus)}" if surplus else ""
