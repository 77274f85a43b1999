"""A model does not judge what it said itself; checked before the first paid call."""

from collections.abc import Iterable

from ratiba_action.core.model_names import base_model, model_family
from ratiba_action.errors import ConfigurationError


def require_independent_judges(
    generators: Iterable[str], judge: str, cross_check: str | None = None, *, replayed: bool = False
) -> tuple[str, ...]:
    """Hold the judges' models against those of the system under test, whatever their spelling.

    Args:
        generators: models that the system under test uses, from recordings, transcripts or configuration.
        judge: model of the primary judge.
        cross_check: model of the second judge; None when nothing is cross-checked.
        replayed: all grades come from recordings, so nothing is cross-checked now.

    Returns:
        What a reader of the report should know about judges of the system's own family.

    Raises:
        ConfigurationError: a judge is one of the generators, the second judge is the first, or the judge is of a
            generator's family and nothing is cross-checked; all of it at once.
    """
    models = sorted(set(generators))
    judges = [("judge", judge), *([("cross-check judge", cross_check)] if cross_check else [])]
    problems = [
        f"The {role} {name!r} is the model {generator!r} that the system under test uses."
        for role, name in judges
        for generator in models
        if base_model(name) == base_model(generator)
    ]
    if cross_check and base_model(cross_check) == base_model(judge):
        problems.append(f"The cross-check judge {cross_check!r} is the judge itself.")
    related = [generator for generator in models if model_family(generator) == model_family(judge)]
    if related and not cross_check and not replayed:
        problems.append(f"The judge {judge!r} is of the family of {_listed(related)}, and nothing is cross-checked.")
    if problems:
        raise ConfigurationError(
            " ".join(problems), "Name a judge of another family, and another one for the cross-check."
        )
    return _notes(related, judge, cross_check)


def _notes(related: list[str], judge: str, cross_check: str | None) -> tuple[str, ...]:
    notes: list[str] = []
    if related:
        check = f"the cross-check by {cross_check} stays on" if cross_check else "replayed grades are not cross-checked"
        notes.append(f"The judge {judge} is of the family of {_listed(related)}, which it judges; {check}.")
    if cross_check and model_family(cross_check) == model_family(judge):
        notes.append(f"The judge {judge} and the cross-check judge {cross_check} are of one family.")
    return tuple(notes)


def _listed(models: list[str]) -> str:
    return ", ".join(models)
