from ratiba_action.util.text import summary_of, traceback_of

RAISED = "scenario 'talks': send() of the adapter raised LookupError: no slot"
FRAMES = 'Traceback (most recent call last):\n  File "shop.py", line 5, in answer\n    raise LookupError("no slot")'


def test_a_crash_is_reported_in_one_line_and_its_frames_in_several() -> None:
    message = f"{RAISED}\n{FRAMES}"
    assert summary_of(message) == RAISED
    assert summary_of(message, "talks") == "send() of the adapter raised LookupError: no slot"
    assert traceback_of(message) == FRAMES


def test_a_message_without_a_traceback_stays_as_it_is() -> None:
    text = "The recording does not fit:\nthe prompt changed."
    assert (summary_of(text, "talks"), traceback_of(text)) == (text, "")
