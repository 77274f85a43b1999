"""The gate says what is wrong with the calibration of its judges, and that changes no verdict."""

from tests.support.small_repository import SmallRepository

SET = """\
owner: Adrian
owner_until: 2026-01-31
criteria: {tone: {metric: CoherenceMetric}}
conversations:
- id: a
  added: 2026-01-05
  source: transcript
  turns: [{user: Habari, reply: Karibu}]
  labels: [{by: Adrian, day: 2026-01-05, scores: {tone: 4}}]
"""


def test_the_comment_says_what_is_overdue_and_uncalibrated(local: SmallRepository) -> None:
    local.scenario("talks", "say hello")
    local.write("scenarios/calibration/human_labelled.yaml", SET)
    ended = local.gate()
    assert ended.code == 0, ended.printed
    comment = (ended.report / "comment.md").read_text("utf-8")
    assert "The judge is uncalibrated: 0 of 30 labelled conversations have its score." in comment
    assert "session of 2026-02-02 is overdue by" in comment
    assert "Adrian owned the set until 2026-01-31" in comment
    local.write("scenarios/calibration/human_labelled.yaml", SET.replace("tone: 4", "tone: 9"))
    wrong = local.gate()
    assert wrong.code == 0, wrong.printed
    notes = " ".join(wrong.results["report"]["notes"])
    assert "scenarios/calibration/human_labelled.yaml:9" in notes
    assert "less than or equal to 5" in notes
