"""What a run is expected to cost, told before anything is paid."""

from ratiba_action.composition import price_list
from ratiba_action.configuration import Configuration
from ratiba_action.core.forecast import Expected, Forecast
from ratiba_action.equipping import materials_of, source_of
from ratiba_action.estimating import estimator, expected_costs
from ratiba_action.preparing import GateRun, Prepared
from ratiba_action.recordings.folder import recorded_models
from ratiba_action.workshop import Materials


def forecast(run: GateRun, prepared: Prepared) -> Forecast | None:
    """What the selected conversations are expected to cost; None for a run that asks no model.

    Raises:
        ConfigurationError: models have no price; names all of them.
        SuiteError: recordings cannot be read.
    """
    source = source_of(run, prepared)
    if source == "replay":
        return None
    configuration = prepared.inputs.configuration
    materials = materials_of(run, prepared)
    prices = price_list(configuration)
    prices.require(_models(run, configuration, materials))
    most = estimator(configuration, materials, prices)
    costs = expected_costs(configuration, materials, prices)
    return Forecast(
        cap=run.settings.budget_usd,
        conversations=tuple(
            Expected(trial.scenario.id, costs[trial.scenario.id], most(trial)) for trial in materials.plan.trials
        ),
        as_needed=source == "auto",
        system_known=configuration.system.price_per_turn_usd is not None or bool(recorded_models(materials.recordings)),
    )


def _models(run: GateRun, configuration: Configuration, materials: Materials) -> set[tuple[str, str]]:
    """Every model that the run may ask, as far as it is known before."""
    judge, second = configuration.judge, configuration.judge.cross_check
    models = set(recorded_models(materials.recordings))
    if materials.judged:
        models.add((judge.model, judge.provider))
    if second is not None and second.share and second.provider in run.settings.keys:
        models.add((second.model, second.provider))
    return models
