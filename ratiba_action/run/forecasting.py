"""What a run is expected to cost, told before anything is paid."""

import asyncio

from ratiba_action.config.configuration import Configuration
from ratiba_action.model.values import Usd
from ratiba_action.money.budget import Limit
from ratiba_action.money.forecast import Forecast, without_paid
from ratiba_action.run.composition import price_list, require_reachable_servers
from ratiba_action.run.equipping import materials_of, payment_for, source_of
from ratiba_action.run.estimating import expected_models, expected_trials
from ratiba_action.run.paid_run import Payment, books_of, limits_before
from ratiba_action.run.preparing import GateRun, Prepared
from ratiba_action.run.workshop import Materials


def forecast(run: GateRun, prepared: Prepared) -> Forecast | None:
    """What the selected conversations are expected to cost; None for a run that asks no model.

    Raises:
        ConfigurationError: models have no price; names all of them.
        SuiteError: recordings cannot be read.
        LedgerError: the shared ledger, or the journal of a run that is resumed, cannot be read.
    """
    source = source_of(run, prepared)
    if source == "replay":
        return None
    configuration = prepared.inputs.configuration
    materials = materials_of(run, prepared)
    payment = payment_for(run, source, prepared, materials)
    prices = price_list(configuration)
    prices.require(_models(run, configuration, materials))
    books = books_of(payment)
    expected = expected_trials(configuration, materials, prices, materials.plan.trials)
    return Forecast(
        limits=_limits(run, payment, books.total if books is not None else Usd(0)),
        conversations=without_paid(expected, books.calls if books is not None else ()),
        as_needed=source == "auto",
        system_known=configuration.system.costs_are_declared or bool(expected_models(configuration, materials)),
    )


def _limits(run: GateRun, payment: Payment, paid: Usd) -> tuple[Limit, ...]:
    require_reachable_servers(run.environment, payment.ledger_url)
    return asyncio.run(limits_before(payment, run.settings.budget_usd, paid))


def _models(run: GateRun, configuration: Configuration, materials: Materials) -> set[tuple[str, str]]:
    """Every model that the run may ask, as far as it is known before."""
    judge, second = configuration.judge, configuration.judge.cross_check
    models = set(expected_models(configuration, materials))
    if materials.judged:
        models.add((judge.model, judge.provider))
    if second is not None and second.share and second.provider in run.settings.keys:
        models.add((second.model, second.provider))
    return models
