"""Entries of the metrics that read what replies say."""

from collections.abc import Mapping

from ratiba_action.metrics.entry import MetricEntry

TEXT_METRICS: Mapping[str, MetricEntry] = {
    "KeyPhraseMetric": MetricEntry(
        "ratiba_action.metrics.key_phrase:KeyPhraseMetric",
        "replies mention the key phrases",
        needs="expect.key_phrases",
    ),
    "BleuMetric": MetricEntry(
        "ratiba_action.metrics.bleu:BleuMetric",
        "n-grams of words that a reply shares with its reference answer (BLEU)",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.answer",
        package="sacrebleu",
    ),
    "ChrfMetric": MetricEntry(
        "ratiba_action.metrics.chrf:ChrfMetric",
        "n-grams of characters that a reply shares with its reference answer (chrF)",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.answer",
        package="sacrebleu",
    ),
    "RougeLMetric": MetricEntry(
        "ratiba_action.metrics.rouge_l:RougeLMetric",
        "words that a reply shares, in order, with its reference answer (ROUGE-L)",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.answer",
    ),
    "CharacterSimilarityMetric": MetricEntry(
        "ratiba_action.metrics.character_similarity:CharacterSimilarityMetric",
        "a reply is spelt like its reference answer",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.answer",
    ),
}
