"""The metrics that ask a judge, each with the most questions of one measurement."""

from collections.abc import Mapping

from ratiba_action.metrics.entry import MetricEntry

_METRICS = "ratiba_action.metrics"
_SPEAKING = ("chatbot", "agent", "rag")

RAG_METRICS: Mapping[str, MetricEntry] = {
    "FaithfulnessMetric": MetricEntry(
        f"{_METRICS}.deepeval_rag:FaithfulnessMetric",
        "DeepEval: no document contradicts a claim of the reply",
        judge_calls_a_turn=3,
        system_types=("rag",),
        needs="reply.documents",
    ),
    "AnswerRelevancyMetric": MetricEntry(
        f"{_METRICS}.deepeval_rag:AnswerRelevancyMetric",
        "DeepEval: the reply's statements are relevant to the question",
        judge_calls_a_turn=2,
        system_types=_SPEAKING,
    ),
    "ContextualPrecisionMetric": MetricEntry(
        f"{_METRICS}.deepeval_rag:ContextualPrecisionMetric",
        "DeepEval: helpful documents are ranked before the others",
        judge_calls_a_turn=1,
        system_types=("rag", "search"),
        needs="expect.answer",
    ),
    "ContextualRecallMetric": MetricEntry(
        f"{_METRICS}.deepeval_rag:ContextualRecallMetric",
        "DeepEval: the documents contain what the reference answer says",
        judge_calls_a_turn=1,
        system_types=("rag", "search"),
        needs="expect.answer",
    ),
    "ContextualRelevancyMetric": MetricEntry(
        f"{_METRICS}.deepeval_rag:ContextualRelevancyMetric",
        "DeepEval: the documents' statements are relevant to the question",
        judge_calls_a_turn=20,
        system_types=("rag", "search"),
        needs="reply.documents",
    ),
}

STEPS_METRICS: Mapping[str, MetricEntry] = {
    "GEval": MetricEntry(
        f"{_METRICS}.g_eval:GEval", "DeepEval: score of each turn by your own steps", judge_calls_a_turn=1
    ),
    "ConversationalGEval": MetricEntry(
        f"{_METRICS}.g_eval:ConversationalGEval",
        "DeepEval: score of the conversation by your own steps",
        judge_calls=1,
        system_types=_SPEAKING,
    ),
}

OWN_METRICS: Mapping[str, MetricEntry] = {
    "FaithfulnessByClaimMetric": MetricEntry(
        f"{_METRICS}.faithfulness_by_claim:FaithfulnessByClaimMetric",
        "the documents support each sentence of the reply, verified one by one; a refusal scores 1",
        judge_calls_a_turn=16,
        system_types=("rag",),
        needs="reply.documents",
    ),
    "ReverseQuestionRelevancyMetric": MetricEntry(
        f"{_METRICS}.reverse_question_relevancy:ReverseQuestionRelevancyMetric",
        "questions that the judge derives from the reply match the customer's question",
        judge_calls_a_turn=2,
        system_types=_SPEAKING,
    ),
    "AnswerCorrectnessMetric": MetricEntry(
        f"{_METRICS}.answer_correctness:AnswerCorrectnessMetric",
        "the reply states the facts of the reference answer",
        judge_calls_a_turn=1,
        system_types=_SPEAKING,
        needs="expect.answer",
    ),
    "RefusalByJudgeMetric": MetricEntry(
        f"{_METRICS}.refusal_by_judge:RefusalByJudgeMetric",
        "one reply refuses the request: 1 or 0; used by the rule `must_refuse` with a judge",
        judge_calls=1,
    ),
    "PairwisePreferenceMetric": MetricEntry(
        f"{_METRICS}.pairwise_preference:PairwisePreferenceMetric",
        "the judge prefers the reply to the reference answer, in both orders; a tie scores 0.5",
        judge_calls_a_turn=2,
        system_types=_SPEAKING,
        needs="expect.answer",
    ),
}

SAFETY_METRICS: Mapping[str, MetricEntry] = {
    "ToxicityMetric": MetricEntry(
        f"{_METRICS}.deepeval_safety:ToxicityMetric",
        "DeepEval: no reply is toxic; 1 is not toxic",
        judge_calls_a_turn=2,
    ),
    "BiasMetric": MetricEntry(
        f"{_METRICS}.deepeval_safety:BiasMetric", "DeepEval: no reply is biased; 1 is fair", judge_calls_a_turn=2
    ),
    "PIILeakageMetric": MetricEntry(
        f"{_METRICS}.deepeval_safety:PIILeakageMetric",
        "DeepEval: no reply discloses personal data; 1 is none",
        judge_calls_a_turn=2,
    ),
    "JailbreakMetric": MetricEntry(
        f"{_METRICS}.jailbreak:JailbreakMetric",
        "no attempt to jailbreak the assistant succeeds; 1 is no success",
        judge_calls=1,
        system_types=_SPEAKING,
    ),
    "MisuseMetric": MetricEntry(
        f"{_METRICS}.deepeval_safety:MisuseMetric",
        "DeepEval: the assistant is used only for its domain; 1 is no misuse",
        judge_calls_a_turn=2,
    ),
    "NonAdviceMetric": MetricEntry(
        f"{_METRICS}.deepeval_safety:NonAdviceMetric",
        "DeepEval: no reply gives advice of the forbidden types; 1 is none",
        judge_calls_a_turn=2,
    ),
}

CHATBOT_METRICS: Mapping[str, MetricEntry] = {
    "SwahiliFluencyMetric": MetricEntry(
        f"{_METRICS}.swahili_fluency:SwahiliFluencyMetric",
        "replies are natural Swahili of a small business in Kenya",
        judge_calls=1,
        system_types=("chatbot", "agent"),
    ),
    "EnglishFluencyMetric": MetricEntry(
        f"{_METRICS}.english_fluency:EnglishFluencyMetric",
        "replies are natural English of a small business in Kenya",
        judge_calls=1,
        system_types=("chatbot", "agent"),
    ),
    "CoherenceMetric": MetricEntry(
        f"{_METRICS}.coherence:CoherenceMetric",
        "each reply follows from the conversation so far",
        judge_calls=1,
        system_types=_SPEAKING,
    ),
    "ConversationCompletenessMetric": MetricEntry(
        f"{_METRICS}.deepeval_chatbot:ConversationCompletenessMetric",
        "DeepEval: the customer's requests were fulfilled",
        judge_calls=13,
        system_types=("chatbot", "agent"),
    ),
    "KnowledgeRetentionMetric": MetricEntry(
        f"{_METRICS}.deepeval_chatbot:KnowledgeRetentionMetric",
        "DeepEval: the assistant remembers what the customer said",
        judge_calls_a_turn=2,
        system_types=("chatbot", "agent"),
    ),
    "RoleAdherenceMetric": MetricEntry(
        f"{_METRICS}.deepeval_chatbot:RoleAdherenceMetric",
        "DeepEval: the assistant stays in its role",
        judge_calls=1,
        system_types=("chatbot", "agent"),
    ),
    "TurnRelevancyMetric": MetricEntry(
        f"{_METRICS}.deepeval_chatbot:TurnRelevancyMetric",
        "DeepEval: each reply is relevant to the conversation so far",
        judge_calls_a_turn=1,
        system_types=_SPEAKING,
    ),
}

AGENT_JUDGED_METRICS: Mapping[str, MetricEntry] = {
    "TaskCompletionMetric": MetricEntry(
        f"{_METRICS}.deepeval_agent:TaskCompletionMetric",
        "DeepEval: reply and tool calls complete the task of the message",
        judge_calls_a_turn=2,
        system_types=("agent",),
    ),
    "GoalAccuracyMetric": MetricEntry(
        f"{_METRICS}.deepeval_agent:GoalAccuracyMetric",
        "DeepEval: the customer's goals were reached by a good plan",
        judge_calls_a_turn=2,
        system_types=("agent",),
    ),
    "ToolUseMetric": MetricEntry(
        f"{_METRICS}.deepeval_agent:ToolUseMetric",
        "DeepEval: the right tools were called with the right arguments",
        judge_calls_a_turn=2,
        system_types=("agent",),
    ),
}

JUDGED_METRICS: Mapping[str, MetricEntry] = {
    **CHATBOT_METRICS,
    **AGENT_JUDGED_METRICS,
    **RAG_METRICS,
    **OWN_METRICS,
    **STEPS_METRICS,
    **SAFETY_METRICS,
}
