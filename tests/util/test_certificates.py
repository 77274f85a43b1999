"""The certificates that every connection of the gate is checked against: one answer for all of them."""

import ssl
from pathlib import Path

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.util.proxy import trusted_certificates

BUNDLE = Path(__file__).parents[1] / "support/certificates" / "loopback.pem"


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_bundle_that_is_named_takes_the_place_of_the_systems(name: str) -> None:
    context = trusted_certificates({name: str(BUNDLE)})
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) <= 1


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_bundle_that_cannot_be_read_is_named_with_the_way_out(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}.*cannot be read") as caught:
        trusted_certificates({name: str(tmp_path / "missing.pem")})
    assert "PEM" in caught.value.remedy
