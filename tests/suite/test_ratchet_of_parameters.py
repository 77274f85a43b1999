from ratiba_action.model.scenario import Assertion
from ratiba_action.model.values import JsonObject
from ratiba_action.suite.ratchet import ratchet_parameters


def ratcheted(head: JsonObject, base: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    return ratchet_parameters(Assertion("M", 0.5, parameters=head), Assertion("M", 0.9, parameters=base))


def test_what_python_alone_takes_for_equal_is_reported() -> None:
    _, notes = ratcheted({"strict": 1}, {"strict": True})
    assert notes == ("M keeps the parameters of the base; this change edits them.",)
    kept, notes = ratcheted({"terms": {"on": 1}}, {"terms": {"on": True}})
    assert (repr(kept), notes) == ("{'terms': {'on': 1}}", ("this change edits the terms of M.",))


def test_parameters_that_stay_are_not_spoken_of() -> None:
    assert ratcheted({"k": 5}, {"k": 5}) == ({"k": 5}, ())


def test_a_number_a_word_or_a_list_is_the_bases_also_when_the_change_removes_it() -> None:
    base = {"k": 5, "measure": "exact", "forbidden": ["canary"]}
    note = "M keeps the parameters of the base; this change edits them."
    assert ratcheted({"k": 500, "measure": "recall", "forbidden": []}, base) == (base, (note,))
    assert ratcheted({}, base) == (base, (note,))


def test_a_parameter_that_the_base_does_not_give_is_not_added() -> None:
    assert ratcheted({"lowercase": True}, {})[0] == {}


def test_a_catalogue_is_truth_that_a_change_may_edit_and_that_is_said() -> None:
    head: JsonObject = {"catalogue": {"terms": ["spa"]}}
    assert ratcheted(head, {"catalogue": {"terms": []}}) == (head, ("this change edits the catalogue of M.",))


def test_a_catalogue_cannot_take_the_place_of_another_kind_of_parameter() -> None:
    assert ratcheted({"k": {"terms": []}}, {"k": 3})[0] == {"k": 3}
