"""The line that says why a program failed stands first."""

import pytest

from ratiba_action.worker.program_output import error_first

NODE = """
> bot@1.0.0 start
> node server.js

server.js:25
app..listen(3000);
    ^
SyntaxError: Unexpected token '.'
    at compileSourceTextModule (node:internal/modules/esm/utils:346:16)
Node.js v20.20.2
npm notice
npm notice New minor version of npm available! 11.19.1 -> 11.21.2
"""
PYTHON = """
Traceback (most recent call last):
  File "a.py", line 1, in <module>
KeyError: 'first'
During handling of the above exception, another exception occurred:
  File "a.py", line 3, in <module>
shop.errors.ShopError: no bread
"""


@pytest.mark.parametrize(
    ("printed", "first"),
    [
        (NODE, "SyntaxError: Unexpected token '.' …"),
        (PYTHON, "shop.errors.ShopError: no bread …"),
        ("starting\npanic: runtime error: no map\ngoroutine 1", "panic: runtime error: no map …"),
        (
            'a\nException in thread "main" java.lang.IllegalStateException: no port',
            'Exception in thread "main" java.lang',
        ),
        ("ready\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'\n at y", "Error [ERR_MODULE_NOT_FOUND]: Cannot"),
        ("nothing went wrong", "nothing went wrong"),
        ("ModuleNotFoundError: No module named 'openai'", "ModuleNotFoundError: No module named 'openai'"),
    ],
)
def test_the_line_that_names_the_error_comes_first(printed: str, first: str) -> None:
    assert error_first(printed).startswith(first)
    assert "npm notice" not in error_first(printed)


def test_every_other_line_stays_and_of_a_long_text_the_end() -> None:
    assert "app..listen(3000);" in error_first(NODE)
    assert error_first("one two three", 9) == "two three"
    assert error_first("one\nKeyError: 3\ntwo three four", 10) == "KeyError: 3 …\nthree four"


def test_a_long_error_is_cut_between_words_and_no_long_text_hides_one_that_stands_first() -> None:
    key = "sk-" + "a" * 60
    shown = error_first(f"one\nKeyError: {'word ' * 76}{key}")
    assert "sk-" not in shown.partition(" …\n")[0]
    assert error_first(f"KeyError: 3\n{'four ' * 10}", 10).startswith("KeyError: 3 …\n")
