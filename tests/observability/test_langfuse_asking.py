"""A server is asked again only where that can help, and where it cannot make a second copy."""

from collections.abc import Callable

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

import httpx
from langfuse.api.core import ApiError

from ratiba_action.observability.langfuse_asking import Deadline, LangfuseError, ask


def failing_with(*errors: Exception) -> tuple[Callable[[], str], list[Exception]]:
    """A call that fails so often, and then answers; and the failures that are left."""
    left = list(errors)

    def call() -> str:
        if left:
            raise left.pop(0)
        return "answered"

    return call, left


@pytest.mark.parametrize(
    "error",
    [
        ApiError(status_code=429, headers={"retry-after": "0"}),
        ApiError(status_code=503),
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("no answer"),
    ],
    ids=["429", "503", "refused", "connect"],
)
def test_what_was_surely_not_done_is_asked_again(error: Exception) -> None:
    call, left = failing_with(error)
    assert ask(call, Deadline.after(30), once=True) == "answered"
    assert left == []


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (httpx.ReadTimeout("late"), "it did not answer in time"),
        (httpx.RemoteProtocolError("gone"), "the connection ended without an answer"),
        (ApiError(status_code=500), "it answered with status 500"),
        (ApiError(status_code=502), "it answered with status 502"),
        (ApiError(status_code=504), "it answered with status 504"),
    ],
    ids=["time-out", "broken off", "500", "502", "504"],
)
def test_what_may_have_been_done_is_not_sent_again_but_read_again(error: Exception, problem: str) -> None:
    call, left = failing_with(error, error)
    with pytest.raises(LangfuseError, match=problem) as caught:
        ask(call, Deadline.after(30), once=True)
    assert (len(left), caught.value.final) == (1, True)
    assert ask(call, Deadline.after(30)) == "answered"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_a_refusal_is_final_for_what_was_asked_and_that_of_the_keys_for_everything(status: int) -> None:
    call, left = failing_with(*[ApiError(status_code=status) for _ in range(2)])
    with pytest.raises(LangfuseError) as caught:
        ask(call, Deadline.after(30))
    assert len(left) == 1
    assert caught.value.final is (status in {401, 403})


def test_who_asks_for_more_time_than_there_is_is_not_waited_for() -> None:
    call, left = failing_with(*[ApiError(status_code=429, headers={"retry-after": "60"}) for _ in range(3)])
    with pytest.raises(LangfuseError, match="it answered with status 429"):
        ask(call, Deadline.after(30))
    assert len(left) == 2


def test_there_are_three_tries() -> None:
    call, left = failing_with(*[httpx.ConnectError("refused") for _ in range(4)])
    with pytest.raises(LangfuseError, match="it cannot be reached"):
        ask(call, Deadline.after(30))
    assert len(left) == 1


def test_without_time_nothing_is_asked() -> None:
    with pytest.raises(LangfuseError, match="the time for sending was over"):
        Deadline.after(0).timeout()
