"""How do options under librdkafka's names secure the connection of another Kafka client?"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streams.errors import SettingsError

_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True, slots=True)
class Security:
    """What a connection needs: `context` for TLS, the rest for SASL; None where it is not used."""

    context: ssl.SSLContext | None = None
    mechanism: str | None = None
    username: str | None = None
    password: str | None = None


def security(options: Mapping[str, Any]) -> Security:
    """Read security.protocol, ssl.* and sasl.* of a client's options.

    Raises SettingsError for what the reader cannot do: other SASL mechanisms, and TLS keys given as
    text instead of files.
    """
    protocol = str(options.get("security.protocol", "plaintext")).upper()
    context = _context(options) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return Security(context)
    mechanism = str(options.get("sasl.mechanism", options.get("sasl.mechanisms", "PLAIN"))).upper()
    if mechanism not in _MECHANISMS:
        raise SettingsError(
            f"[broker.options] sasl.mechanism: {mechanism} cannot be used by the worker; allowed:"
            f" {', '.join(_MECHANISMS)}"
        )
    return Security(context, mechanism, options.get("sasl.username"), options.get("sasl.password"))


def _context(options: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=options.get("ssl.ca.location"))
    if certificate := options.get("ssl.certificate.location"):
        context.load_cert_chain(
            certificate, options.get("ssl.key.location"), options.get("ssl.key.password")
        )
    if str(options.get("ssl.endpoint.identification.algorithm", "https")).lower() == "none":
        context.check_hostname = False
    if str(options.get("enable.ssl.certificate.verification", "true")).lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
