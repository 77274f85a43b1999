"""A model does not judge what it said itself; checked before the first paid call."""

from collections.abc import Iterable

from ratiba_action.errors import ConfigurationError
from ratiba_action.money.pricing import base_model, model_family


def require_independent_judges(
    generators: Iterable[str], judge: str, cross_check: str | None = None, *, replayed: bool = False
) -> tuple[str, ...]:
    """Check that no model judges its own answers, whatever its spelling.

    A judge of the system's own family is allowed in every command: a team may have one provider's key only.

    Args:
        generators: models that the system under test uses, from recordings, transcripts or configuration.
        cross_check: model of the second judge; None when nothing is cross-checked.
        replayed: all scores come from recordings, so nothing is cross-checked now.

    Returns:
        What a reader of the report should know about judges of the system's own family.

    Raises:
        ConfigurationError: a judge is one of the generators, or the second judge is the first; all of it at once, each
            with the setting to change.
    """
    models = sorted(set(generators))
    judges = [("judge", "judge.model", judge)]
    judges += [("cross-check judge", "judge.cross_check.model", cross_check)] if cross_check else []
    found = [
        (f"The {role} {name!r} is the model {generator!r} that the system under test uses.", setting)
        for role, setting, name in judges
        for generator in models
        if base_model(name) == base_model(generator)
    ]
    if cross_check and base_model(cross_check) == base_model(judge):
        found.append((f"The cross-check judge {cross_check!r} is the judge itself.", "judge.cross_check.model"))
    if found:
        settings = " and ".join(dict.fromkeys(setting for _, setting in found))
        raise ConfigurationError(
            " ".join(problem for problem, _ in found), f"Set {settings} in the configuration to another model."
        )
    return family_notes(models, judge, cross_check, replayed=replayed)


def family_notes(
    generators: Iterable[str], judge: str, cross_check: str | None = None, *, replayed: bool = False
) -> tuple[str, ...]:
    """What a reader should know about judges of the family of a model that they judge.

    Args:
        generators: as in ``require_independent_judges``.
        cross_check: model of the second judge; None when nothing is cross-checked.
        replayed: all scores come from recordings.
    """
    related = [generator for generator in sorted(set(generators)) if model_family(generator) == model_family(judge)]
    notes: list[str] = []
    if related:
        check = f"{cross_check} cross-checks it" if cross_check else "nothing is cross-checked"
        check = "its scores are replayed" if replayed else check
        notes.append(f"The judge {judge} is of the family of {_listed(related)}, which it judges; {check}.")
    if cross_check and model_family(cross_check) == model_family(judge):
        notes.append(f"The judge {judge} and the cross-check judge {cross_check} are of one family.")
    return tuple(notes)


def _listed(models: list[str]) -> str:
    return ", ".join(models)
