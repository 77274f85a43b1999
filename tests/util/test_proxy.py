"""Which proxy a connection goes through."""

from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.util.proxy import proxy_for

API = "https://api.github.com"
PROXY = {"HTTPS_PROXY": "http://proxy.example:3128"}


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("http://proxy.example:3128", "proxy.example:3128"),
        ("http://proxy.example:3128/", "proxy.example:3128"),
        ("proxy.example:3128", "proxy.example:3128"),
        ("http://proxy.example", "proxy.example:80"),
        ("http://[::1]:8080", "[::1]:8080"),
    ],
)
def test_https_goes_through_the_proxy_that_the_environment_names(value: str, address: str) -> None:
    proxy = proxy_for(API, {"HTTPS_PROXY": value})
    assert proxy is not None
    assert (proxy.address, proxy.credentials) == (address, "")


def test_small_letters_win_and_an_empty_value_is_none() -> None:
    proxy = proxy_for(API, {**PROXY, "https_proxy": "http://other.example:1"})
    assert proxy is not None
    assert proxy.address == "other.example:1"
    assert proxy_for(API, {"HTTPS_PROXY": ""}) is None
    assert proxy_for(API, {}) is None


def test_plain_http_is_spoken_with_this_machine_alone_and_never_through_a_proxy() -> None:
    assert proxy_for("http://127.0.0.1:8000", {**PROXY, "HTTP_PROXY": "http://proxy.example:3128"}) is None


@pytest.mark.parametrize(
    ("listed", "direct"),
    [
        ("*", True),
        ("api.github.com", True),
        (" localhost , .github.com", True),
        ("github.com", True),
        ("*.github.com", True),
        ("API.GitHub.com:443", True),
        ("api.github.com:8443", False),
        ("hub.com", False),
        ("ghes.example", False),
        (",", False),
    ],
)
def test_no_proxy_lists_hosts_and_domains(listed: str, direct: bool) -> None:  # noqa: FBT001 - a column
    assert (proxy_for(API, {**PROXY, "NO_PROXY": listed}) is None) is direct


def test_user_and_password_become_a_header_and_are_not_shown() -> None:
    proxy = proxy_for(API, {"HTTPS_PROXY": "http://wanjiku:p%40ss@proxy.example:3128"})
    assert proxy is not None
    assert b64decode(proxy.credentials.removeprefix("Basic ")) == b"wanjiku:p@ss"
    assert proxy.credentials not in repr(proxy)


@pytest.mark.parametrize("value", ["socks5://proxy.example:1", "https://proxy.example", "http://a b", "http://:", "::"])
def test_a_proxy_that_cannot_be_used_is_refused_without_showing_its_value(value: str) -> None:
    with pytest.raises(ValueError, match="HTTPS_PROXY does not name a proxy") as caught:
        proxy_for(API, {"HTTPS_PROXY": value})
    assert value not in str(caught.value)


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_breaks_out_of_the_address(value: str, listed: str) -> None:
    try:
        proxy = proxy_for(API, {"HTTPS_PROXY": value, "NO_PROXY": listed})
    except ValueError:
        return
    assert proxy is None or not set(proxy.address) & set("\r\n /@")
