import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import FileProblem, SuiteError
from ratiba_action.metrics.registry import metric_problems, readers_of
from ratiba_action.model.scenario import DEFAULT_CUSTOMER, DEFAULT_NOW, ExpectedReply, ExpectedTool
from ratiba_action.suite.load import is_scenario_file, load_suite, read_scenario_files
from ratiba_action.suite.scenario_schema import title_of
from ratiba_action.util.installation import install_command
from ratiba_action.verdict.pairing import content_digest

GOOD = b"""\
id: spa_happy
language: sw
vertical: spa
tags: [smoke]
critical: true
now: 2026-04-25T10:00:00+03:00
customer: {name: Wanjiku, phone: "+254 712 345 432"}
turns:
  - user: Habari
    expect: {state: GREETING, tools: []}
  - user: Ndio
    expect: {state: BOOKED, tools: [{name: create_booking, args: {start: 2026-04-26T14:00}}]}
rules:
  - {type: must_not_contain, value: reservation}
assertions:
  - {metric: BookingSlotConsistencyMetric, threshold: 1}
"""
BARE = b"""\
id: spa_happy
language: fr
turns:
  - {user: Bonjour, expect: {state: GREETING}}
"""


def any_rule(_type: str, _value: Any) -> None:
    return None


def test_a_title_is_for_people_and_changes_no_content() -> None:
    titled = GOOD.replace(b"language: sw", b"title: Asked for 14:00, booked 08:00 \xe2\x9c\x93\nlanguage: sw")
    (plain,) = load_suite({"scenarios/a.yaml": GOOD}, metric_problems, any_rule).scenarios
    (found,) = load_suite({"scenarios/a.yaml": titled}, metric_problems, any_rule).scenarios
    assert (plain.title, found.title) == ("", "Asked for 14:00, booked 08:00 ✓")
    assert content_digest(found) == content_digest(plain)


def test_inputs_are_json_by_name_and_part_of_the_content() -> None:
    given = GOOD.replace(b"language: sw", b"inputs: {city: Nairobi, guests: 2, tags: [a, {b: null}]}\nlanguage: sw")
    (plain,) = load_suite({"scenarios/a.yaml": GOOD}, metric_problems, any_rule).scenarios
    (found,) = load_suite({"scenarios/a.yaml": given}, metric_problems, any_rule).scenarios
    assert (plain.inputs, found.inputs) == ({}, {"city": "Nairobi", "guests": 2, "tags": ["a", {"b": None}]})
    assert content_digest(found) != content_digest(plain)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [("{message: x}", "what the conversation says"), ("{a-b: x}", "a-b"), ("[x]", "mapping")],
)
def test_an_input_that_no_template_could_name_is_refused(inputs: str, message: str) -> None:
    (problem,) = problems_of(a=GOOD.replace(b"language: sw", f"inputs: {inputs}\nlanguage: sw".encode()))
    assert "inputs" in problem
    assert message in problem


@pytest.mark.parametrize("title", [r'"a\nb"', r'"\x1b[31m"', r'"a\u202eb"', r'"\u2028"', '""', "x" * 101, "[a]"])
def test_a_title_is_one_short_line_of_visible_text(title: str) -> None:
    (problem,) = problems_of(a=GOOD.replace(b"language: sw", f"title: {title}\nlanguage: sw".encode()))
    assert "title" in problem


@given(st.text(max_size=300))
def test_a_title_made_of_any_text_is_one(text: str) -> None:
    for title in title_of(text).values():
        content = GOOD + yaml.safe_dump({"title": title}, allow_unicode=True).encode()
        (found,) = load_suite({"scenarios/a.yaml": content}, metric_problems, any_rule).scenarios
        assert found.title == title


def problems_of(**files: bytes) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        load_suite({f"scenarios/{name}.yaml": content for name, content in files.items()}, metric_problems, any_rule)
    return [str(problem) for problem in caught.value.problems]


def test_a_scenario_is_read_whole() -> None:
    suite = load_suite({"scenarios/a.yaml": GOOD}, metric_problems, any_rule)
    (scenario,) = suite.scenarios
    assert scenario.id == "spa_happy"
    assert scenario.critical
    assert scenario.now.isoformat() == "2026-04-25T10:00:00+03:00"
    assert scenario.turns[0].expect.tools == ()
    assert scenario.turns[1].expect.tools == (ExpectedTool("create_booking", {"start": "2026-04-26T14:00"}),)
    assert scenario.turns[1].line == 11
    assert scenario.assertions[0].threshold == 1
    assert scenario.path == "scenarios/a.yaml"


def test_without_a_clock_and_a_customer_a_scenario_has_the_same_ones_in_every_run() -> None:
    suite = load_suite({"scenarios/a.yaml": BARE}, metric_problems, any_rule)
    (scenario,) = suite.scenarios
    assert (scenario.now, scenario.customer) == (DEFAULT_NOW, DEFAULT_CUSTOMER)
    assert (scenario.now.isoformat(), scenario.now.strftime("%A")) == ("2026-01-05T09:00:00+00:00", "Monday")


@pytest.mark.parametrize(
    ("now", "configured", "moment", "zone"),
    [
        ("2026-03-27T10:00 Europe/Paris", "", "2026-03-27T10:00:00+01:00", "Europe/Paris"),
        ("2026-03-30 10:00 Europe/Paris", "", "2026-03-30T10:00:00+02:00", "Europe/Paris"),
        ("2026-03-27T10:00+01:00 Europe/Paris", "", "2026-03-27T10:00:00+01:00", "Europe/Paris"),
        ("2026-03-27T10:00:00+01:00[Europe/Paris]", "", "2026-03-27T10:00:00+01:00", "Europe/Paris"),
        ("2026-10-25T02:30+01:00 Europe/Paris", "", "2026-10-25T02:30:00+01:00", "Europe/Paris"),
        ("2026-03-27T10:00", "Europe/Paris", "2026-03-27T10:00:00+01:00", "Europe/Paris"),
        ("2026-03-27T10:00+01:00", "Europe/Paris", "2026-03-27T10:00:00+01:00", "Europe/Paris"),
        ("2026-03-27T10:00 Africa/Nairobi", "Europe/Paris", "2026-03-27T10:00:00+03:00", "Africa/Nairobi"),
        ("2026-03-27T10:00Z", "Europe/Paris", "2026-03-27T10:00:00+00:00", "UTC"),
        ("2026-03-27T10:00+01:00", "", "2026-03-27T10:00:00+01:00", ""),
    ],
)
def test_a_clock_has_a_zone_of_its_own_or_the_configurations(now: str, configured: str, moment: str, zone: str) -> None:
    files = {"scenarios/a.yaml": BARE + f"now: {now}\n".encode()}
    (scenario,) = load_suite(files, metric_problems, any_rule, timezone=configured).scenarios
    assert (scenario.now.isoformat(), scenario.timezone) == (moment, zone)


@pytest.mark.parametrize(("now", "offset"), [("2026-03-27T10:00", "+00:00"), ("2026-03-27T10:00+03:00", "+03:00")])
def test_a_suite_can_be_read_without_the_configuration(now: str, offset: str) -> None:
    files = {"a.yaml": BARE + f"now: {now}\n".encode()}
    (scenario,) = load_suite(files, metric_problems, any_rule, timezone=None).scenarios
    assert scenario.now.isoformat() == f"2026-03-27T10:00:00{offset}"


def test_a_scenario_without_a_clock_begins_at_the_same_local_time_in_the_configurations_zone() -> None:
    (scenario,) = load_suite({"a.yaml": BARE}, metric_problems, any_rule, timezone="Europe/Paris").scenarios
    assert (scenario.now.isoformat(), scenario.timezone) == ("2026-01-05T09:00:00+01:00", "Europe/Paris")


@pytest.mark.parametrize(
    ("now", "configured", "message"),
    [
        ("2026-03-27T10:00", "", "has no time zone; write it as 2026-03-27T10:00:00 Europe/Paris or"),
        ("2026-03-27T10:00 Europe/Pari", "", "is no IANA time zone such as Europe/Paris; did you mean 'Europe/Paris'"),
        ("2026-03-29T02:30 Europe/Paris", "", "write 2026-03-29T01:30+01:00 or 2026-03-29T03:30+02:00"),
        ("2026-10-25T02:30", "Europe/Paris", "write 2026-10-25T02:30+02:00 or 2026-10-25T02:30+01:00"),
        ("2026-03-27T10:00+03:00", "Europe/Paris", "has another offset than Europe/Paris, where it is +01:00 then"),
        ("2026-03-27", "", "is not a date and time such as 2026-03-27T10:00 Europe/Paris"),
        ("tomorrow", "", "is not a date and time"),
        ("2026-03-27T10:00 ../etc/passwd", "", "is not a date and time"),
    ],
)
def test_a_clock_that_is_no_single_moment_is_refused_with_its_line(now: str, configured: str, message: str) -> None:
    with pytest.raises(SuiteError) as caught:
        load_suite({"a.yaml": BARE + f"now: {now}\n".encode()}, metric_problems, any_rule, timezone=configured)
    (problem,) = caught.value.problems
    assert problem.line == 5
    assert message in problem.message


EXPECTED_AT_NIGHT = """\
id: night
language: fr
now: 2026-03-27T10:00 Europe/Paris
turns:
  - user: a
    expect:
      tools: [{name: book, args: {slot: {start: 2026-03-29T02:30}}}]
  - user: b
    expect: {events: [{type: booked, data: {at: [2026-10-25T02:30]}}]}
  - user: c
    expect: {rows: [{table: bookings, where: {at: 2026-10-25T02:30}, equals: {at: 2026-03-29T02:15}}]}
rows:
  - {table: bookings, where: {at: 2026-03-29T02:45}}
"""


def test_an_expected_time_that_does_not_exist_or_exists_twice_is_refused_with_both_readings() -> None:
    gap, fold = (
        "does not exist in Europe/Paris, where clocks go forward",
        "exists twice in Europe/Paris, where clocks go back",
    )
    twice = f"2026-10-25T02:30:00 {fold}: write 2026-10-25T02:30+02:00 or 2026-10-25T02:30+01:00"
    assert problems_of(night=EXPECTED_AT_NIGHT.encode()) == [
        f"scenarios/night.yaml:7: 2026-03-29T02:30:00 {gap}: write 2026-03-29T01:30+01:00 or 2026-03-29T03:30+02:00",
        f"scenarios/night.yaml:9: {twice}",
        f"scenarios/night.yaml:11: 2026-03-29T02:15:00 {gap}: write 2026-03-29T01:15+01:00 or 2026-03-29T03:15+02:00",
        f"scenarios/night.yaml:11: {twice}",
        f"scenarios/night.yaml:12: 2026-03-29T02:45:00 {gap}: write 2026-03-29T01:45+01:00 or 2026-03-29T03:45+02:00",
    ]


@pytest.mark.parametrize("given", [b"now:", b"now: null", b"customer:", b"customer: {name: Wanjiku}", b"customer: {}"])
def test_a_clock_or_a_customer_that_is_given_is_given_whole(given: bytes) -> None:
    assert problems_of(a=BARE + given + b"\n")[0].startswith(f"scenarios/a.yaml:5: {given.split(b':')[0].decode()}")


def test_an_expected_language_without_the_package_that_detects_it_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = GOOD.replace(b"state: BOOKED,", b"state: BOOKED, language: sw,")
    monkeypatch.setitem(sys.modules, "lingua", None)
    (problem,) = problems_of(a=asked)
    assert problem.startswith("scenarios/a.yaml:12: ")
    assert install_command("semantic") in problem
    assert "docker build --build-arg PACKAGES=full" in problem


def test_all_mistakes_of_all_files_are_reported_at_once_with_their_lines() -> None:
    bad = (
        GOOD.replace(b"id: spa_happy", b"id: Spa Happy")
        .replace(b"vertical: spa", b"vertcal: spa")
        .replace(b"+03:00\n", b"\n")
        .replace(b"critical: true", b"critical: maybe")
        .replace(b"- user: Habari", b"- usr: Habari")
        .replace(b"BookingSlotConsistencyMetric, threshold: 1", b"NoSuchMetric, threshold: 1.5")
    )
    messages = problems_of(a=bad, b=b"id: [", c=b"\xff")
    assert [line.split(":")[:2] for line in messages] == [
        ["scenarios/a.yaml", "1"],
        ["scenarios/a.yaml", "3"],
        ["scenarios/a.yaml", "5"],
        ["scenarios/a.yaml", "6"],
        ["scenarios/a.yaml", "9"],
        ["scenarios/a.yaml", "16"],
        ["scenarios/a.yaml", "16"],
        ["scenarios/b.yaml", "2"],
        ["scenarios/c.yaml", "1"],
    ]
    assert "did you mean 'vertical'?" in messages[1]
    assert ", BookingSlotConsistencyMetric" in "".join(messages)


def test_ids_are_unique_over_all_files() -> None:
    (message,) = problems_of(a=GOOD, b=GOOD)
    assert message == "scenarios/b.yaml:1: the id 'spa_happy' is already used in scenarios/a.yaml; ids are unique"


@pytest.mark.parametrize("threshold", [b"-0.1", b"1.01", b".nan", b'"0.8"', b"true"])
def test_a_threshold_is_a_number_from_0_to_1(threshold: bytes) -> None:
    (message,) = problems_of(a=GOOD.replace(b"threshold: 1", b"threshold: " + threshold))
    assert message.startswith("scenarios/a.yaml:16: assertions.0.threshold:")


def test_a_metric_has_one_threshold() -> None:
    twice = GOOD + b"  - {metric: BookingSlotConsistencyMetric, threshold: 0}\n"
    (message,) = problems_of(a=twice)
    assert message.startswith("scenarios/a.yaml:17: duplicate metric 'BookingSlotConsistencyMetric'")


def test_a_rule_that_cannot_work_is_reported() -> None:
    with pytest.raises(SuiteError) as caught:
        load_suite({"scenarios/a.yaml": GOOD}, metric_problems, lambda kind, value: f"{kind} cannot be {value!r}")
    assert str(caught.value) == "scenarios/a.yaml:14: must_not_contain cannot be 'reservation'"


def test_no_scenario_at_all_is_a_mistake() -> None:
    with pytest.raises(SuiteError, match="no scenario was found"):
        load_suite({}, metric_problems, any_rule)


def test_the_digest_changes_with_any_content_and_any_name() -> None:
    digests = {
        load_suite({name: content}, metric_problems, any_rule).digest
        for name in ("scenarios/a.yaml", "scenarios/b.yaml")
        for content in (GOOD, GOOD + b"# more\n")
    }
    assert len(digests) == 4


def test_recordings_and_calibration_are_not_scenarios() -> None:
    assert is_scenario_file("scenarios/spa/a.yaml", "scenarios")
    assert not is_scenario_file("scenarios/recordings/a.yaml", "scenarios")
    assert not is_scenario_file("scenarios/calibration/human_labelled.yaml", "scenarios")
    assert not is_scenario_file("scenarios/README.md", "scenarios")
    assert not is_scenario_file("other/a.yaml", "scenarios")


def test_a_folder_that_cannot_be_listed_is_named_and_never_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scenarios" / "spa" / "more").mkdir(parents=True)
    (tmp_path / "scenarios" / "a.yaml").write_text("id: a\n")
    listed = os.scandir

    def fail(path: str) -> object:
        if str(path).endswith("spa"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(SuiteError, match="scenarios/spa: cannot be read: Input/output error"):
        read_scenario_files(tmp_path, "scenarios")


def test_folders_of_other_data_are_not_looked_through_and_a_link_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "scenarios"
    for name in ("spa/recordings/a.yaml", "recordings/b.yaml", "calibration/c.yaml", "d.yaml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("id: a\n")
    assert sorted(read_scenario_files(tmp_path, "scenarios")) == ["scenarios/d.yaml", "scenarios/spa/recordings/a.yaml"]
    (folder / "linked.yaml").symlink_to(folder / "spa")
    with pytest.raises(SuiteError, match=r"scenarios/linked\.yaml: cannot be read: it is, or lies behind, a symbolic"):
        read_scenario_files(tmp_path, "scenarios")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="golden: there is no such folder"):
        read_scenario_files(tmp_path, "golden")


def test_files_are_found_in_sub_folders(tmp_path: Path) -> None:
    (tmp_path / "scenarios/spa").mkdir(parents=True)
    (tmp_path / "scenarios/recordings").mkdir()
    (tmp_path / "scenarios/spa/a.yaml").write_bytes(GOOD)
    (tmp_path / "scenarios/recordings/x.yaml").write_bytes(b"no: scenario")
    assert list(read_scenario_files(tmp_path, "scenarios")) == ["scenarios/spa/a.yaml"]


@given(st.binary(max_size=200), st.integers(0, len(GOOD)))
def test_a_damaged_file_is_reported_never_a_crash(noise: bytes, at: int) -> None:
    reported: tuple[FileProblem, ...] = ()
    try:
        load_suite({"scenarios/a.yaml": GOOD[:at] + noise + GOOD[at:]}, metric_problems, any_rule)
    except SuiteError as error:
        reported = error.problems
    assert all(problem.path == "scenarios/a.yaml" for problem in reported)


def test_a_metric_that_has_nothing_to_measure_is_refused() -> None:
    known = GOOD.replace(b"BookingSlotConsistencyMetric", b"ToolCallF1Metric")
    assert load_suite({"scenarios/a.yaml": known}, metric_problems, any_rule).scenarios
    unknown = GOOD.replace(b"BookingSlotConsistencyMetric", b"RougeLMetric")
    assert problems_of(a=unknown) == [
        "scenarios/a.yaml:16: RougeLMetric has nothing to measure: no turn says expect.answer"
    ]


def test_a_captured_reply_is_something_to_measure() -> None:
    replayed = GOOD.replace(b"BookingSlotConsistencyMetric", b"RougeLMetric").replace(
        b"vertical: spa\n", b"vertical: spa\nlayer: replay\n"
    )
    replayed = replayed.replace(b"  - user: Habari\n", b"  - user: Habari\n    reply: Karibu\n")
    replayed = replayed.replace(b"  - user: Ndio\n", b"  - user: Ndio\n    reply: Asante\n")
    (scenario,) = load_suite({"scenarios/a.yaml": replayed}, metric_problems, any_rule).scenarios
    assert scenario.turns[0].expect.answer == "Karibu"


def test_a_truth_that_no_metric_reads_is_refused_with_those_that_would() -> None:
    reported = GOOD.replace(b"{state: GREETING, tools: []}", b"{state: GREETING, tools: [], key_phrases: [Karibu]}")
    with pytest.raises(SuiteError) as caught:
        load_suite({"scenarios/a.yaml": reported}, metric_problems, any_rule, readers_of)
    assert [str(problem) for problem in caught.value.problems] == [
        "scenarios/a.yaml:10: no metric of the scenario reads key_phrases; add one of KeyPhraseMetric, or remove it"
    ]
    read = reported.replace(b"BookingSlotConsistencyMetric", b"KeyPhraseMetric")
    assert load_suite({"scenarios/a.yaml": read}, metric_problems, any_rule, readers_of).scenarios


def expecting(expect: str) -> bytes:
    return (
        'id: spa\nlanguage: fr\nnow: 2026-04-25T10:00:00+03:00\ncustomer: {name: Wanjiku, phone: "+254 712 345 432"}\n'
        f"turns:\n  - user: Habari\n    expect: {expect}\n"
    ).encode()


def test_what_a_reply_must_be_like_is_read_as_a_text_or_a_list() -> None:
    text = "{contains: KES, contains_any: [a, b], not_contains: [PIN], matches: 'K.S', json: {a.b: 1}, max_words: 9}"
    (scenario,) = load_suite({"scenarios/a.yaml": expecting(text)}, metric_problems, any_rule).scenarios
    assert scenario.turns[0].expect.reply == ExpectedReply(
        ("KES",), ("a", "b"), ("PIN",), ("K.S",), None, {"a.b": 1}, 9
    )


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{contains: []}", "contains"),
        ("{contains: 5}", "contains"),
        *((f"{{{key}: }}", f"{key}: it is empty: give a value") for key in ("contains", "json", "state", "refusal")),
        ("{not_contains: ' '}", "white space"),
        ("{matches: '('}", "is not a regular expression"),
        ("{matches: '(a+)+$'}", "repetition inside a repetition"),
        ("{json: {'a[': 1}}", "is not a JMESPath"),
        ("{json: [1]}", "json"),
        ("{max_words: 0}", "max_words"),
        ("{contain: KES}", "did you mean 'contains'"),
    ],
)
def test_an_assertion_on_a_reply_that_cannot_work_is_refused_with_its_line(expect: str, message: str) -> None:
    problems = problems_of(a=expecting(expect))
    assert len(problems) == 1
    assert problems[0].startswith("scenarios/a.yaml:7: ")
    assert message in problems[0]
