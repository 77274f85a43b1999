"""What failed and passed on the base is said first, and nothing that failed is called unchanged."""

from tests.support.small_repository import SmallRepository

CRITICAL = "critical: true\n"


def test_newly_failing_scenarios_are_named_critical_ones_first(local: SmallRepository) -> None:
    for name in ("asks", "breaks", "critical_one"):
        local.scenario(name, "say hello")
    path = local.folder / "scenarios" / "critical_one.yaml"
    path.write_text(path.read_text().replace("language: fr\n", f"language: fr\n{CRITICAL}"))
    assert local.gate().code == 0
    baseline = local.report.parent / "base.json"
    baseline.write_bytes((local.report / "results.json").read_bytes())
    adapter = local.folder / "adapter.py"
    adapter.write_text(
        adapter.read_text().replace(
            '"state": "SAID"}', '"state": "SAID" if "asks" in self._context.scenario_id else "LOST"}', 1
        )
    )
    ended = local.gate("--baseline", str(baseline))
    assert ended.code == 1, ended.printed
    assert "**2 scenarios newly failing.**" in ended.comment
    assert "Newly failing: `critical_one` (critical), `breaks`." in ended.comment
    assert "nchanged" not in ended.comment + ended.printed + (local.report / "report.html").read_text()


def test_an_exception_where_the_base_answered_is_newly_failing(local: SmallRepository) -> None:
    local.scenario("breaks", "say hello")
    assert local.gate().code == 0
    baseline = local.report.parent / "base.json"
    baseline.write_bytes((local.report / "results.json").read_bytes())
    adapter = local.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace('return {"text": text, "state": "SAID"}', "return text.gone", 1))
    ended = local.gate("--baseline", str(baseline))
    assert ended.code == 1, ended.printed
    assert "Newly failing: `breaks`." in ended.comment
