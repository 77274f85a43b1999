"""The request for one structured answer, and the text of the answer, in whichever format the model's provider speaks.

Instructions and schema are constants of the caller. Whatever was said in a conversation is in the one user message,
so no transcript can add a message, a role or a field.
"""

from ratiba_action.errors import ConfigurationError, JudgeError
from ratiba_action.llm.endpoints import FORMATS
from ratiba_action.llm.wire_format import ShapedQuestion
from ratiba_action.metrics.judging.answer import JudgeModel
from ratiba_action.metrics.judging.json_shape import without_limits
from ratiba_action.model.values import JsonObject


def structured_request(model: JudgeModel, instructions: str, form: str, schema: JsonObject) -> JsonObject:
    """The body of one request.

    No temperature is set: current models refuse it. A metric whose template is a repository's own may add one.

    Args:
        instructions: the system prompt; never holds text of a conversation.
        form: the user message with the quoted conversation.
        schema: JSON Schema of the answer, with a ``title``; the providers hold the model to it.

    Raises:
        ConfigurationError: the provider is unknown.
    """
    if model.format not in FORMATS:
        raise ConfigurationError(
            f"No judge can be asked at the provider {model.provider!r}.", f"Use one of {', '.join(sorted(FORMATS))}."
        )
    sayable = form.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate has no UTF-8 form
    shape = without_limits({name: value for name, value in schema.items() if name != "title"})
    question = ShapedQuestion(model.name, model.answer_tokens, instructions, sayable, schema["title"], shape)
    return FORMATS[model.format].structured(question)


def structured_endpoint(wire: str) -> str:
    """Name of the endpoint of a format that such a request goes to."""
    return FORMATS[wire].endpoints[0].name


def answer_text(wire: str, body: JsonObject) -> str:
    """The text of a whole answer.

    Args:
        body: as it came over the wire.

    Raises:
        JudgeError: the model refused, was cut off or said nothing, or the answer has another shape.
    """
    text = FORMATS[wire].answer_text(body)
    if not text.strip():
        raise JudgeError(
            "The judge's answer is empty.", "Run the scenario again; if it repeats, use another judge model."
        )
    return text
