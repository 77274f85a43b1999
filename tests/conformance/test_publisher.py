"""What every publisher holds to, fake or real."""

from collections.abc import Callable, Iterator

import pytest

from ratiba_action.github.attempts import Attempt
from ratiba_action.github.comment import PullRequestComment
from ratiba_action.github.marker import marker_of
from ratiba_action.model.verdict import Report
from ratiba_action.ports import Publisher
from tests.support.github_server import GithubState, github_server
from tests.support.recording_publisher import RecordingPublisher
from tests.support.sample_report import sample_report


def render(report: Report, _earlier: tuple[Attempt, ...]) -> str:
    return f"{marker_of(report)}\n{report.verdict.reason}"


@pytest.fixture(params=["fake", "pull request comment"])
def publisher(request: pytest.FixtureRequest) -> Iterator[Publisher]:
    if request.param == "fake":
        yield RecordingPublisher()
        return
    with github_server(GithubState(heads={7: sample_report().subject.head})) as address:
        yield PullRequestComment("token", render, api_url=address)


def test_the_address_of_what_was_published_is_returned(publisher: Publisher) -> None:
    assert publisher.publish(sample_report())


def test_a_report_may_be_published_again(publisher: Publisher) -> None:
    publish: Callable[[Report], str | None] = publisher.publish
    assert publish(sample_report())
    assert publish(sample_report(name="another gate"))


def test_publishing_leaves_the_report_as_it_was(publisher: Publisher) -> None:
    report = sample_report()
    publisher.publish(report)
    assert report == sample_report()
