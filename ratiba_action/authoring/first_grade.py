"""The recorded grades of the first conversation, so that it can be measured before anybody has a key."""

from ratiba_action.authoring.first_words import FirstWords
from ratiba_action.config.language_metrics import attach_language_metrics
from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.metrics.judging.replay_judge import judge_recording_key
from ratiba_action.metrics.registry import is_judged, load_metric
from ratiba_action.model.canonical import transcript_digest
from ratiba_action.model.conversation import Exchange, Reply, Transcript
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.scenario import Scenario

_SCORE = 0.9
_USAGE = {"input_tokens": 1_200, "output_tokens": 90}


def first_grades(scenario: Scenario, words: FirstWords, model: str) -> tuple[JudgeRecording, ...]:
    """One line for each judged metric of the scenario, marked as written by hand.

    Args:
        scenario: of one turn.
        words: what is said in it.
        model: of the judge that the configuration names.
    """
    exchanges = tuple(Exchange(turn, Reply(words.reply)) for turn in scenario.turns)
    transcript = transcript_digest(Transcript(scenario.id, exchanges))
    lines: list[JudgeRecording] = []
    for assertion in attach_language_metrics(scenario):
        if is_judged(assertion.metric):
            asked = load_metric(assertion.metric, _NeverAsked(model), assertion.parameters)
            metric = metric_version(asked.name, asked.version.partition("+")[0])
            key = judge_recording_key(metric, model, transcript, 0)
            lines.append(
                JudgeRecording(key, 0, "authored", metric, model, transcript, _SCORE, words.grade, dict(_USAGE))
            )
    return tuple(lines)


class _NeverAsked:
    """Lets a metric tell its name and version."""

    def __init__(self, model: str) -> None:
        self.model = model

    async def answer(self, question: Question) -> Answer:
        """Refuse."""
        raise AssertionError(question)
