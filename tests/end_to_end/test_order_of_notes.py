"""Notes stand in the order of what the reader can do, whatever their words are; each stands once."""

from tests.support.small_repository import SmallRepository


def test_a_note_with_a_remedy_stands_first_whatever_the_words_of_the_others_are(local: SmallRepository) -> None:
    local.scenario("talks", "say hello")
    ended = local.gate(RATIBA_EVAL_BUDGET_USD_="Use `ratiba record`. Run it.", **{"RATIBA_ Run": "x", "RATIBA_`": "x"})
    assert ended.code == 0, ended.printed
    notes = ended.results["report"]["notes"]
    unread = [index for index, note in enumerate(notes) if note.endswith("is set, but no input reads it.")]
    remedied = next(index for index, note in enumerate(notes) if "saw no model call" in note)
    assert len(unread) == 3, "these say what is so and nothing to do, though they hold words of commands"
    assert remedied < min(unread), notes
    assert len(set(notes)) == len(notes)
    assert notes == [one for one in notes if isinstance(one, str)], "text in the results, as ever"
