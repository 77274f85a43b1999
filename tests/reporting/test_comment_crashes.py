"""The traceback of a crash in the comment."""

from ratiba_action.model.measurement import Errored, Phase
from ratiba_action.model.plan import Arm, Trial
from ratiba_action.reporting.comment import render_comment
from ratiba_action.reporting.comment_failures import crashes
from ratiba_action.reporting.markdown import visible
from ratiba_action.reporting.summary import summarise
from ratiba_action.util.text import TRACEBACK
from tests.support.sample_report import sample_report, sample_scored


def crashed(name: str, *lines: str) -> Errored:
    trial = Trial(sample_scored(name).trial.scenario, Arm("head", ""), 0)
    return Errored(trial, Phase.SYSTEM, "\n".join(("KeyError: 'room'", TRACEBACK, *lines)))


def test_a_crash_is_shown_folded_with_what_raised_it() -> None:
    body = render_comment(summarise(sample_report(results=(crashed("spa_0", '  File "adapter.py", line 7, in send'),))))
    assert "<details><summary>Traceback of <code>spa_0</code></summary>" in body
    assert 'File "adapter.py", line 7, in send' in body
    assert "adapter.py" not in visible(body)


def test_a_traceback_cannot_leave_its_block() -> None:
    rendered = crashes(summarise(sample_report(results=(crashed("spa_0", "```", "</details> @everyone", "````"),))))
    assert "`````text\n" in rendered
    assert rendered.count("</details>") == 1
    before, _, rest = rendered.partition("`````text\n")
    shown, _, after = rest.partition("\n`````")
    assert "@everyone" in shown  # which is nobody in a block of code
    assert "@everyone" not in before + after


def test_a_long_traceback_keeps_its_end() -> None:
    rendered = crashes(
        summarise(sample_report(results=(crashed("spa_0", *(f"line {n}" + "x" * 999 for n in range(1000))),)))
    )
    assert "line 999" in rendered
    assert "line 9xx" not in rendered
    assert len(rendered) < 20_000


def test_only_the_first_few_crashes_are_shown() -> None:
    rendered = crashes(
        summarise(
            sample_report(
                results=tuple(crashed(f"spa_{n}", f'  File "adapter.py", line {n}, in send') for n in range(7))
            )
        )
    )
    assert rendered.count("<details>") == 5
    assert rendered.endswith("2 more tracebacks in the report.")


def test_without_a_crash_there_is_no_block() -> None:
    assert crashes(summarise(sample_report(results=(sample_scored("spa_0"),)))) == ""
