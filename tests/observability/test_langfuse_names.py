"""Names and ids that are written down here are those of Langfuse's SDK."""

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from langfuse import Langfuse, LangfuseOtelSpanAttributes

from ratiba_action.model.event import Place, conversation_id
from ratiba_action.observability.traces import attributes, datasets


def test_every_attribute_is_one_that_the_sdk_sets() -> None:
    known = {value for name, value in vars(LangfuseOtelSpanAttributes).items() if name.isupper()}
    ours = {value for name, value in vars(attributes).items() if name.isupper() and isinstance(value, str)}
    assert ours <= known
    assert len(ours) > 15


def test_the_id_of_an_experiment_is_what_the_sdk_derives() -> None:
    theirs = Langfuse._create_experiment_id(
        Langfuse.__new__(Langfuse), project_id="project", dataset_id="dataset é", run_name="run 1 head"
    )
    assert datasets.experiment_id("project", "dataset é", "run 1 head") == theirs


def test_the_id_of_a_conversation_has_the_form_of_a_trace_id() -> None:
    ours, theirs = conversation_id("run", Place("head", "spa_booking")), Langfuse.create_trace_id(seed="run")
    assert len(ours) == len(theirs)
    assert set(ours) <= set("0123456789abcdef")
