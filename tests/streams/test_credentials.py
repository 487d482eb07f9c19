"""Options under librdkafka's names secure the reader's connection as they do the other clients'."""

import ssl

import pytest

from streams import credentials
from streams.credentials import Security
from streams.errors import SettingsError


def test_plain_connections_need_nothing() -> None:
    """Without a protocol nothing is secured."""
    assert credentials.security({}) == Security()
    assert credentials.security({"security.protocol": "plaintext"}) == Security()


def test_a_name_and_a_password_are_passed_on() -> None:
    """SASL over plain text has no TLS; both names of the mechanism count."""
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.username": "u", "sasl.password": "p"}

    assert credentials.security(options) == Security(None, "PLAIN", "u", "p")
    scram = credentials.security(options | {"sasl.mechanisms": "SCRAM-SHA-512"})
    assert scram.mechanism == "SCRAM-SHA-512"


def test_tls_checks_the_broker_unless_told_otherwise() -> None:
    """By default name and certificate are checked; each check can be put off by its own option."""
    checked = credentials.security({"security.protocol": "ssl"}).context
    nameless = credentials.security(
        {"security.protocol": "sasl_ssl", "ssl.endpoint.identification.algorithm": "none"}
    ).context
    unchecked = credentials.security(
        {"security.protocol": "ssl", "enable.ssl.certificate.verification": False}
    ).context

    assert checked and nameless and unchecked
    assert (checked.check_hostname, checked.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert (nameless.check_hostname, nameless.verify_mode) == (False, ssl.CERT_REQUIRED)
    assert (unchecked.check_hostname, unchecked.verify_mode) == (False, ssl.CERT_NONE)


def test_a_mechanism_that_the_reader_does_not_know_is_named() -> None:
    """Refused at the start, with what could be used."""
    with pytest.raises(SettingsError, match=r"GSSAPI cannot be used.*PLAIN, SCRAM-SHA-256"):
        credentials.security({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"})
