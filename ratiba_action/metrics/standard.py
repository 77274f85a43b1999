"""What ``standard`` stands for in the configuration: metrics and thresholds for each type of system, a literal table.

A metric that cannot work without being told something of the one system, such as its role, is in none of the lists.
Neither is precision at k, whose greatest value depends on how many documents are relevant at all.
"""

from collections.abc import Mapping, Sequence

from ratiba_action.model.scenario import SystemType

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


def standard_table() -> str:
    """One row a type of system, as Markdown."""
    rows = (
        f"| {system_type} | {', '.join(f'{name} {threshold:.1f}' for name, threshold in metrics)} |\n"
        for system_type, metrics in STANDARD.items()
    )
    return "| System | `standard` |\n|---|---|\n" + "".join(rows)
