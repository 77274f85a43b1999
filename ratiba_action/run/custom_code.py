"""Asks a repository's own rules and metrics about a conversation."""

from collections.abc import Sequence

from ratiba_action.checks.custom_code import CUSTOM_VERSION, custom_check, custom_score, evidence, rule_addresses
from ratiba_action.checks.failure_rules import CUSTOM
from ratiba_action.errors import ConfigurationError, WorkerError
from ratiba_action.model.measurement import Case, Check, Score
from ratiba_action.model.scenario import Assertion
from ratiba_action.ports import CustomCode


class CustomMetric:
    """Implements ``Metric`` by code of the repository.

    Args:
        assertion: names it as ``module:attribute``, with its parameters.
        code: runs it.
    """

    judged = False
    version = CUSTOM_VERSION

    def __init__(self, assertion: Assertion, code: CustomCode) -> None:
        self.name = assertion.metric
        self._assertion = assertion
        self._code = code

    async def measure(self, case: Case, _threshold: float) -> Score:
        """Score one case.

        Raises:
            ConfigurationError: the code cannot be imported, raised, hung, or answered something else than a score.
        """
        try:
            answer = await self._code.run(self.name, evidence(case, self._assertion.parameters))
        except WorkerError as error:
            raise ConfigurationError(
                f"The metric {self.name!r} gave no score: {error.problem}", error.remedy
            ) from error
        return custom_score(self._assertion, answer)


async def check_custom_rules(case: Case, code: CustomCode | None) -> Sequence[Check]:
    """One check for each custom rule of a scenario.

    Raises:
        ConfigurationError: nothing can run them; or one cannot be imported, raised, hung or answered something else.
    """
    rules = [rule for rule in case.scenario.rules if rule.type == CUSTOM]
    if rules and code is None:
        raise ConfigurationError(f"The system of {case.scenario.id!r} cannot run custom rules.", "Remove them.")
    checks: list[Check] = []
    for rule, address in [(one, named) for one in rules for named in rule_addresses(one)]:
        try:
            answer = await code.run(address, evidence(case, {})) if code is not None else None
        except WorkerError as error:
            raise ConfigurationError(f"The rule {address!r} did not run: {error.problem}", error.remedy) from error
        checks.append(custom_check(rule, address, answer))
    return checks
