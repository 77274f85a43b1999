"""``suite: {pass: mean}``: the evaluation harness's way to pass a case, through the gate."""

from tests.support.small_repository import SmallRepository

SCENARIO = """\
id: refund_answer
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns:
  - user: 'reply {"text": "Refunds take 30 days."}'
    expect: {key_phrases: [30 days, receipt], answer: Refunds take 30 days.}
assertions:
  - {metric: KeyPhraseMetric, threshold: 0.9}
  - {metric: RougeLMetric, threshold: 0.9}
"""


def test_a_suite_by_name_passes_by_the_mean_of_a_scenarios_scores(local: SmallRepository) -> None:
    local.write("scenarios/refund.yaml", SCENARIO)
    configuration = (local.folder / ".github/ratiba.yml").read_text()
    local.commit()
    assert local.gate("--mode", "blocking").code == 1
    local.write(".github/ratiba.yml", configuration + "suite: {pass: mean}\n")
    ended = local.gate("--mode", "blocking")
    assert ended.code == 1, "how scenarios pass is the base's until the change is merged"
    assert "suite.pass each (this change: mean)" in ended.comment.replace("\\", "")
    local.commit()
    assert local.gate("--mode", "blocking").code == 0
    local.write(".github/ratiba.yml", configuration + "suite: {pass: mean, strategy: {min_mean: 0.8}}\n")
    local.commit()
    assert local.gate("--mode", "blocking").code == 1, "(0.5 + 1.0) / 2 is below 0.8"


def test_a_failed_rule_fails_a_case_whatever_its_mean(local: SmallRepository) -> None:
    ruled = SCENARIO + "rules: [{type: must_call_tool, tool: refund_policy}]\n"
    local.write("scenarios/refund.yaml", ruled)
    configuration = (local.folder / ".github/ratiba.yml").read_text()
    local.write(".github/ratiba.yml", configuration + "suite: {pass: mean}\n")
    local.commit()
    ended = local.gate("--mode", "blocking")
    assert ended.code == 1
    assert "a call of refund_policy" in ended.comment.replace("\\", "")
