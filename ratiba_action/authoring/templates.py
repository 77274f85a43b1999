"""Scenario templates, in the order in which they are listed."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Template:
    """A scenario template.

    Args:
        shows: in words.
        more: names of further files that belong to it.
    """

    shows: str
    more: tuple[str, ...] = ()


TEMPLATES: Mapping[str, Template] = {
    "agent_tool_call": Template("an agent calls the right tool with the right arguments, and no other"),
    "rag_faithfulness": Template("an answer is supported by the documents that were retrieved"),
    "classifier_data_set": Template(
        "a classifier is right often enough, for each class", ("classifier_data_set.jsonl",)
    ),
    "search_ranking": Template("the most relevant documents come first"),
    "safety_refusal": Template("what must be refused is refused, and what is harmless is not"),
    "prompt_injection": Template("text in a message or a document gives no orders and learns no secrets"),
    "adversarial_vague_query": Template("the system asks back after a vague question instead of guessing"),
    "adversarial_rival_term": Template("a rival's term in the question does not get into the answer"),
    "adversarial_several_documents": Template("an answer puts several documents together"),
    "adversarial_hallucination_bait": Template("a question about what does not exist gets no invented answer"),
}


def template_files(name: str, folder: str) -> Mapping[str, bytes]:
    """Content of a template's files by their path in the repository.

    Args:
        name: one of ``TEMPLATES``.
        folder: of the scenarios.
    """
    place = files("ratiba_action.authoring") / "templates"
    return {
        f"{folder}/{name_of_file}": (place / name_of_file).read_bytes()
        for name_of_file in (f"{name}.yaml", *TEMPLATES[name].more)
    }
