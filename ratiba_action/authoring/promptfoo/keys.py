"""Keys of promptfoo's files that are not imported, or not as they are, and what the report says of each."""

from collections.abc import Mapping

from ratiba_action.authoring.imports import ImportOutcome
from ratiba_action.authoring.promptfoo.project_code import OPTION
from ratiba_action.authoring.promptfoo.rows import LEFT_OUT

_NEAR, _PERSON = ImportOutcome.APPROXIMATED, ImportOutcome.MANUAL
_CODE = "not imported: code is not run"
CONFIGURATION_KEYS: Mapping[str, tuple[ImportOutcome, str]] = {
    "redteam": (
        _PERSON,
        "not imported: promptfoo generates its tests. Run `promptfoo redteam generate -o FILE`, and import FILE",
    ),
    "derivedMetrics": (_PERSON, "not imported: use `gates` of a file of cases"),
    "nunjucksFilters": (_PERSON, _CODE),
    "extensions": (_PERSON, _CODE),
    "evaluateOptions": (_NEAR, "left out: use options of `ratiba gate`"),
    "env": (_NEAR, "its values stand for `{{ env.NAME }}`, and are left out elsewhere"),
    **dict.fromkeys(("outputPath", "sharing", "tags", "metadata", "commandLineOptions"), (_NEAR, LEFT_OUT)),
    **dict.fromkeys(("writeLatestResults", "tracing"), (_NEAR, LEFT_OUT)),
}
"""Keys of a configuration that are not imported."""
READ = (
    *("$schema", "description", "prompts", "providers", "targets"),
    *("tests", "defaultTest", "scenarios", "assertionTemplates"),
)
TEST_KEYS: Mapping[str, tuple[ImportOutcome, str]] = {
    "metadata": (_NEAR, "left out, except for code that reads `context.test`"),
    "providerOutput": (_PERSON, "not imported: your system answers"),
    "assertScoringFunction": (_PERSON, f"{_CODE}; every assertion must pass"),
}
"""Keys of a test that are not imported."""
OPTIONS: Mapping[str, tuple[ImportOutcome, str]] = {
    **dict.fromkeys(("provider", "rubricPrompt"), (_NEAR, "left out: the configuration names the judge")),
    **dict.fromkeys(("disableVarExpansion", "disableDefaultAsserts"), (ImportOutcome.MAPPED, "applied")),
    **dict.fromkeys(("disableConversationVar", "runSerially"), (_NEAR, LEFT_OUT)),
    "transformVars": (_PERSON, f"not imported: it is code, which an import runs only with {OPTION}"),
    "storeOutputAs": (_PERSON, "not imported: make the tests turns of one scenario, or write the reply into the next"),
}
"""Keys of a test's ``options``."""
ASSERTION_KEYS: Mapping[str, tuple[ImportOutcome, str]] = {
    "metric": (_NEAR, LEFT_OUT),
    "provider": (_NEAR, "left out: the configuration names the judge or the model"),
    "rubricPrompt": (_NEAR, "left out: the gate's own instructions to the judge apply"),
    "contextTransform": (_NEAR, "left out: the context is the documents that your system returns"),
}
"""Further keys of an assertion."""
SET_KEYS: Mapping[str, tuple[ImportOutcome, str]] = {
    "metric": ASSERTION_KEYS["metric"],
    "config": (_PERSON, "not imported: give it to each assertion of the set"),
}
"""Further keys of a set of assertions."""
