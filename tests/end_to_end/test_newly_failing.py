"""What failed and passed on the base is said first, and nothing that failed is called unchanged."""

from tests.support.small_repository import SmallRepository

CRITICAL = "critical: true\n"


def test_newly_failing_scenarios_are_named_critical_ones_first(small: SmallRepository) -> None:
    for name in ("asks", "breaks", "critical_one"):
        small.scenario(name, "say hello")
    path = small.folder / "scenarios" / "critical_one.yaml"
    path.write_text(path.read_text().replace("language: fr\n", f"language: fr\n{CRITICAL}"))
    assert small.gate().code == 0
    baseline = small.report.parent / "base.json"
    baseline.write_bytes((small.report / "results.json").read_bytes())
    adapter = small.folder / "adapter.py"
    adapter.write_text(
        adapter.read_text().replace(
            '"state": "SAID"}', '"state": "SAID" if "asks" in self._context.scenario_id else "LOST"}', 1
        )
    )
    ended = small.gate("--baseline", str(baseline))
    assert ended.code == 1, ended.printed
    assert "**2 scenarios newly failing.**" in ended.comment
    assert "Newly failing: `critical_one` (critical), `breaks`." in ended.comment
    assert "nchanged" not in ended.comment + ended.printed + (small.report / "report.html").read_text()


def test_an_exception_where_the_base_answered_is_newly_failing(small: SmallRepository) -> None:
    small.scenario("breaks", "say hello")
    assert small.gate().code == 0
    baseline = small.report.parent / "base.json"
    baseline.write_bytes((small.report / "results.json").read_bytes())
    adapter = small.folder / "adapter.py"
    adapter.write_text(adapter.read_text().replace('return {"text": text, "state": "SAID"}', "return text.gone", 1))
    ended = small.gate("--baseline", str(baseline))
    assert ended.code == 1, ended.printed
    assert "Newly failing: `breaks`." in ended.comment
