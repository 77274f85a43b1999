"""What a configuration names is looked up before anything runs: judges, prices, code and prompt files.

A mistake here is green as long as every answer is replayed, and stops every run that may call a model. So it is a
mistake in every run, and ``ratiba validate`` says it with its line.
"""

import ast
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

from ratiba_action.checks.custom_code import is_address, rule_addresses
from ratiba_action.config.configuration import Configuration
from ratiba_action.config.model_limits import ModelsBlock
from ratiba_action.errors import ConfigurationError, FileProblem
from ratiba_action.metrics.judging.judge_independence import require_independent_judges
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.scenario import Scenario, Suite
from ratiba_action.ports import Prices
from ratiba_action.run.estimating import expected_models
from ratiba_action.run.inputs import ArmInputs, RunInputs, needs_judge
from ratiba_action.run.paid_run import price_list
from ratiba_action.run.provider_keys import key_variable
from ratiba_action.systems.scratch import MAX_DECLARED_BYTES
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.strict_yaml import read_yaml
from ratiba_action.util.text import did_you_mean

_UNKNOWN = 1_000
"""Tokens for which a price is looked up."""
_OF_THE_BASE = ("judge", "prices", "models", "simulator")
"""Blocks that a change does not decide, and without which no model can be called; ``providers``, which say where keys
are sent, are never taken from it."""
_NOT_LOOKED_INTO = frozenset({".git", ".venv", "node_modules", "__pycache__", "ratiba-report"})


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that cannot work.

    Args:
        message: what is wrong with its value and what to do.
    """

    path: tuple[str, ...]
    message: str


def unusable_judges(
    configuration: Configuration,
    generators: Iterable[str],
    *,
    judged: bool,
    simulated: bool,
    base_urls: Mapping[str, str],
) -> tuple[Setting, ...]:
    """Judges, prices and limits with which a run that calls models would be refused.

    Args:
        generators: models that are recorded for the system under test.
        judged: whether any scenario is measured by a judge.
        simulated: whether a model plays the customer in any scenario.
        base_urls: addresses by provider, which decide the prices.
    """
    try:
        prices = price_list(configuration, base_urls)
    except ConfigurationError as error:
        return (Setting(("prices",), str(error)),)
    judge, second = configuration.judge, configuration.judge.cross_check
    models: list[tuple[tuple[str, ...], str, str]] = [
        (("system", "prompt", "model"), model, provider) for model, provider in sorted(configuration.system_models)
    ]
    models += [(("simulator", "model"), configuration.simulator.model, configuration.simulator.provider)] * simulated
    if judged:
        models.append((("judge", "model"), judge.model, judge.provider))
        models += [(("judge", "cross_check", "model"), second.model, second.provider)] if second is not None else []
    found = [Setting(path, problem) for path, model, provider in models if (problem := _price(prices, model, provider))]
    if judged:
        found += [*_short_answers(configuration), *_own_judges(configuration, generators)]
    return tuple(found)


def _price(prices: Prices, model: str, provider: str) -> str:
    """Why the most that a call costs is not known; empty where it is."""
    try:
        prices.upper_bound(model, provider, _UNKNOWN, _UNKNOWN)
    except ConfigurationError as error:
        return str(error)
    return ""


def _short_answers(configuration: Configuration) -> Iterator[Setting]:
    from ratiba_action.metrics.judging.answer import ANSWER_TOKENS

    judge, second = configuration.judge, configuration.judge.cross_check
    for model in dict.fromkeys([judge.model, *([second.model] if second is not None else [])]):
        maximum = configuration.models.output_of(model)[1]
        if maximum < ANSWER_TOKENS:
            yield Setting(
                ("models",),
                f"The judge {model!r} needs up to {ANSWER_TOKENS} output tokens, and models.max_output_tokens allows "
                f"{maximum}. Set models.overrides.{model}.max_output_tokens to {ANSWER_TOKENS} or more.",
            )


def _own_judges(configuration: Configuration, generators: Iterable[str]) -> Iterator[Setting]:
    judge, second = configuration.judge, configuration.judge.cross_check
    models = {*generators, *(model for model, _ in configuration.system_models)}
    try:
        require_independent_judges(models, judge.model, second.model if second is not None else None)
    except ConfigurationError as error:
        yield Setting(("judge",), str(error))


def repaired(
    head: Configuration, base: Configuration, problem: Callable[[Configuration], str]
) -> tuple[Configuration, tuple[str, ...]]:
    """The base's configuration, with the fewest blocks of the head without which nothing could be run at all.

    What a change may not decide is the base's. Where the base's cannot be used, no change could ever repair it.

    Args:
        problem: why no run could use a configuration with the base's system and recordings; empty where one could.

    Returns:
        The configuration to take as the base's, and a note where it is not the base's own.
    """
    changed = [name for name in _OF_THE_BASE if getattr(head, name) != getattr(base, name)]
    why = problem(base) if changed else ""
    if not why:
        return base, ()
    for blocks in (each for count in range(1, len(changed) + 1) for each in combinations(changed, count)):
        fixed = base.model_copy(update={name: getattr(head, name) for name in blocks})
        if not problem(fixed):
            names = " and ".join(f"`{name}`" for name in blocks)
            message = f"The base branch's settings cannot be used: {why} This change repairs them"
            return fixed, (f"{message}, so its own {names} applies.",)
    return base, ()


def located(name: str, content: bytes, settings: Iterable[Setting]) -> tuple[FileProblem, ...]:
    """The settings as mistakes of their file, each with its line; a block that is not written has none.

    Args:
        name: path of the configuration, for messages.
    """
    document, _ = read_yaml(name, content)
    line: Callable[[tuple[str, ...]], int] = (lambda _: 0) if document is None else document.line
    return tuple(
        FileProblem(name, line(setting.path), f"{'.'.join(setting.path)}: {setting.message}") for setting in settings
    )


def unmatched_prompts(configuration: Configuration, repository: Path) -> Iterator[Setting]:
    """Patterns of prompt files that match no file, so that an edit of a prompt would go unnoticed."""
    system = configuration.system
    root = repository / system.root
    for index, pattern in enumerate(system.prompts):
        if not any(path.is_file() for path in root.glob(pattern)):
            place = f"below {system.root!r}" if system.root != "." else "in this repository"
            yield Setting(
                ("system", "prompts", str(index)), f"no file {place} matches {pattern!r}. Correct the pattern."
            )
    if system.prompt is not None and not (root / system.prompt.file).is_file():
        yield Setting(
            ("system", "prompt", "file"), f"there is no file {system.prompt.file!r}. Write it, or name another."
        )


def unreadable_set_up_files(configuration: Configuration, repository: Path) -> Iterator[Setting]:
    """Files that set-up is said to read, and that are not there as regular files."""
    system = configuration.system
    for index, name in enumerate(system.setup_reads or ()):
        try:
            read_plain_file(repository / system.root, name, MAX_DECLARED_BYTES)
        except OSError as problem:
            yield Setting(
                ("system", "setup_reads", str(index)),
                f"set-up cannot read {name!r}: {problem.strerror}. Name regular files below system.root, not links or "
                "folders.",
            )


def unknown_variants(configuration: Configuration, suite: Suite) -> tuple[FileProblem, ...]:
    """Scenarios that name a variant which the system has not, or whose server is started once for all of them."""
    system, found = configuration.system, dict[FileProblem, None]()
    once = "container" if system.container is not None else "serve" if system.serve is not None else ""
    for scenario in suite.scenarios:
        if scenario.variant and once:
            text = f"variant {scenario.variant!r}: system.{once} starts one server for all scenarios; remove it"
            found[FileProblem(scenario.path, scenario.line, text)] = None
        elif scenario.variant and scenario.variant not in system.variants:
            known = did_you_mean(scenario.variant, system.variants) or f"known: {', '.join(system.variants) or 'none'}"
            text = f"variant {scenario.variant!r} is none of system.variants; {known}"
            found[FileProblem(scenario.path, scenario.line, text)] = None
    return tuple(found)


def unknown_code(
    configuration: Configuration, scenarios: Sequence[Scenario], repository: Path, name: str
) -> tuple[FileProblem, ...]:
    """Addresses of the repository's own code, ``module:attribute``, that lead to nothing.

    Nothing is imported: modules are looked for among the repository's files, and, where the system runs with the
    interpreter of the gate, among the packages that are installed there.

    Args:
        configuration: names the adapter, and the folder of the system.
        name: path of the configuration, for messages.
    """
    system = configuration.system
    files = _python_files(repository)
    anywhere = system.python is not None or system.setup is not None
    found: dict[FileProblem, None] = {}
    for path, line, what, address in _addresses(configuration, scenarios, name):
        problem = _unresolved(address, repository / system.root, files, anywhere=anywhere)
        if problem:
            found[FileProblem(path, line, f"{what} {address!r}: {problem}")] = None
    return tuple(found)


def _addresses(
    configuration: Configuration, scenarios: Sequence[Scenario], name: str
) -> Iterator[tuple[str, int, str, str]]:
    if configuration.system.adapter is not None:
        yield name, 0, "system.adapter", configuration.system.adapter
    for scenario in scenarios:
        for entry in scenario.assertions:
            if is_address(entry.metric):
                yield scenario.path, entry.line, "metric", entry.metric
        for rule in scenario.rules:
            if rule.type == "custom":
                yield from ((scenario.path, rule.line, "rule", address) for address in rule_addresses(rule))


def _unresolved(address: str, root: Path, files: Mapping[str, Path], *, anywhere: bool) -> str:
    """Why an address leads to nothing; empty where it does, or where that cannot be known."""
    module, _, attribute = address.partition(":")
    stem = module.replace(".", "/")
    own = [path for path in (root / f"{stem}.py", root / stem / "__init__.py") if path.is_file()]
    paths = own or [path for end, path in files.items() if f"/{end}".endswith((f"/{stem}.py", f"/{stem}/__init__.py"))]
    if not paths:
        known = anywhere or _is_installed(module.partition(".")[0])
        return (
            "" if known else f"there is no module {module!r} below system.root. Correct the name, or write {stem}.py."
        )
    first = attribute.partition(".")[0]
    tree = _parsed(paths[0])
    names = None if tree is None else _names_in(tree)
    if tree is None or names is None or first in names:
        return ""
    offered = _offered_in(tree)
    near = did_you_mean(first, offered) or f"it defines {', '.join(offered[:_OFFERED]) or 'nothing'}."
    return f"{paths[0].name} defines no {first!r}; {near}"


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


_OFFERED = 5


def _parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):  # the last: nested too deeply
        return None


def _offered_in(tree: ast.Module) -> list[str]:
    """What an address can mean: the module's own functions and classes, then its variables; no import or constant."""
    made = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    variables = [target.id for target in targets if isinstance(target, ast.Name) and not target.id.isupper()]
    return [name for name in dict.fromkeys((*made, *variables)) if not name.startswith("_")]


def _names_in(tree: ast.Module) -> set[str] | None:
    """Every name that a module may have; None where that cannot be known without running it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                return None
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Import() | ast.ImportFrom():
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            case _:
                pass
    return None if "__getattr__" in names else names


def _python_files(repository: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder, folders, names in os.walk(repository):
        folders[:] = [name for name in folders if name not in _NOT_LOOKED_INTO]
        for name in names:
            if name.endswith(".py"):
                path = Path(folder) / name
                found[path.relative_to(repository).as_posix()] = path
    return found


@contextmanager
def _naming_the_base(blocks: Sequence[str]) -> Iterator[None]:
    """Say of an error about the configuration which of its blocks are not those that the change can edit."""
    try:
        yield
    except ConfigurationError as error:
        if not blocks:
            raise
        names = " and ".join(f"`{name}`" for name in blocks)
        raise ConfigurationError(
            f"{error.problem} {error.remedy}".rstrip(),
            f"This run takes {names} from the base branch: change that there first, in a commit of its own.",
        ) from error


def require_usable_models(
    inputs: RunInputs, head: ArmInputs, prices: Prices, second: tuple[str, str] | None, warn: Callable[[str], None]
) -> None:
    """Check that every model that may be called has a price, a key and room to answer, and that none judges itself.

    Raises:
        ConfigurationError: says what to set, and where only the base branch can.
    """
    with _naming_the_base(inputs.from_base):
        _require_usable(inputs, head, prices, second, warn)


def _require_usable(
    inputs: RunInputs, head: ArmInputs, prices: Prices, second: tuple[str, str] | None, warn: Callable[[str], None]
) -> None:
    judge, simulator = inputs.configuration.judge, inputs.configuration.simulator
    generators, replayed = expected_models(head), inputs.llm == Llm.REPLAY
    # Where a rule calls the judge only about replies that phrases cannot tell, the call itself is refused.
    certain = any(map(needs_judge, head.scenarios))
    if any(scenario.simulated_user is not None for scenario in head.scenarios):
        prices.require({(simulator.model, simulator.provider)})
    judges: set[tuple[str, str]] = {(judge.model, judge.provider)} if head.judged else set()
    judges |= {second} if second else set()
    prices.require(generators | judges)
    if not replayed:
        if certain:
            _require_judge_key(inputs.configuration, inputs.keys)
        _require_room(inputs.configuration.models, sorted(model for model, _ in judges))
    if certain:
        models = {model for model, _ in generators}
        notes = require_independent_judges(models, judge.model, second[0] if second else None, replayed=replayed)
        for note in notes:
            warn(note)


def _require_judge_key(configuration: Configuration, keys: Collection[str]) -> None:
    """Check that the judge can be called, before the system's answers are paid for."""
    judge = configuration.judge
    if judge.provider in keys:
        return
    declared = configuration.providers.get(judge.provider)
    way = f"give the input {judge.provider}-api-key ({key_variable(judge.provider)})"
    if declared is not None:
        way = f"set {declared.key_variable}, or give it by the input provider-keys"
    there = ", ".join(sorted(keys)) or "no provider"
    raise ConfigurationError(
        f"The judge {judge.model!r} needs a key for {judge.provider!r}, and there is one for {there}.",
        f"Set judge.provider and judge.model in the configuration to a model that you have a key for, and "
        f"judge.cross_check to null where you have no second key; or {way}.",
    )


def _require_room(limits: ModelsBlock, judges: Sequence[str]) -> None:
    """Check that every judge may answer as long as it is asked to."""
    from ratiba_action.metrics.judging.answer import ANSWER_TOKENS

    short = [model for model in judges if limits.output_of(model)[1] < ANSWER_TOKENS]
    if short:
        names = ", ".join(repr(model) for model in short)
        raise ConfigurationError(
            f"Judges are called for up to {ANSWER_TOKENS} tokens, and models.max_output_tokens allows {names} less.",
            f"Give models.overrides.<model>.max_output_tokens: {ANSWER_TOKENS} or more.",
        )


def second_judge(inputs: RunInputs, warn: Callable[[str], None]) -> tuple[str, str] | None:
    """Model and provider of the cross-check; None where nothing is cross-checked in this run."""
    described = inputs.configuration.judge.cross_check
    if inputs.llm in {Llm.REPLAY, Llm.RECORD} or described is None or not described.share:
        return None
    if described.provider not in inputs.keys:
        warn(f"Nothing is cross-checked: there is no key for {described.provider!r}.")
        return None
    return described.model, described.provider
