"""Which fluency metric a scenario's language attaches (``seeds/000`` §6)."""

from ratiba_action.model.scenario import Assertion, Scenario

FLUENCY_THRESHOLD = 0.80
_WITHOUT_PROSE = ("search", "classifier")
_SCRIPTED = "fsm"


def attach_language_metrics(scenario: Scenario) -> tuple[Assertion, ...]:
    """The scenario's assertions with the fluency metric of its language added, unless it is listed already.

    ``sw`` and ``mixed`` attach SwahiliFluencyMetric, ``en`` attaches EnglishFluencyMetric, others attach none. Search
    and classifiers answer with documents and labels, and a scripted model (layer ``fsm``) says what the scenario wrote:
    there is no prose of a model to judge.
    """
    if scenario.system_type in _WITHOUT_PROSE or scenario.layer == _SCRIPTED:
        return scenario.assertions
    metric = {"sw": "SwahiliFluencyMetric", "mixed": "SwahiliFluencyMetric", "en": "EnglishFluencyMetric"}.get(
        scenario.language
    )
    if metric is None or any(assertion.label == metric for assertion in scenario.assertions):
        return scenario.assertions
    return (Assertion(metric, FLUENCY_THRESHOLD, scenario.line), *scenario.assertions)
