"""What a failure of the client means for the reader: one sentence, where, and what to do."""

from __future__ import annotations

import logging
from typing import Any

from kstream_plan.errors import ClusterError
from kstream_plan.snapshots.fields import printable, shown

_ACL_FIXES = {
    "GroupAuthorizationFailedError": "grant the principal Describe on the group",
    "ClusterAuthorizationFailedError": "grant the principal Describe on the cluster",
}
_LOGIN_FIX = "check sasl.mechanism and sasl.jaas.config in the --command-config file"


class LastWarning(logging.Handler):
    """Keeps the last warning of kafka-python, which says why a connection fails where its exception does not."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Remember what is reported."""
        self.text = record.getMessage()


def cluster_error(errors: Any, error: Exception, servers: str, where: str, last_warning: str) -> ClusterError:
    """Return the error to show.

    Args:
        errors: the module ``kafka.errors``.
        error: what the client raised.
        servers: the bootstrap servers.
        where: what was asked for.
        last_warning: the client's last warning, empty if there was none.
    """
    at = f"{where} at {printable(servers)}"
    if isinstance(error, errors.TopicAuthorizationFailedError):
        access = "Read" if "__consumer_offsets" in where else "Describe"
        return ClusterError("access is denied", where=at, fix=f"grant the principal {access} on the topic")
    if isinstance(error, errors.AuthorizationError):
        fix = _ACL_FIXES.get(type(error).__name__, "grant the principal what the README lists")
        return ClusterError("access is denied", where=at, fix=fix)
    logins = (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError, errors.IllegalSaslStateError)
    if isinstance(error, logins):
        return ClusterError(f"the login is refused: {_reason(error)}", where=at, fix=_LOGIN_FIX)
    if isinstance(error, (errors.UnsupportedVersionError, errors.UnrecognizedBrokerVersion)):
        return ClusterError(f"the broker is too old or no broker: {_reason(error)}", where=at, fix="ask a Kafka broker")
    if isinstance(error, errors.RetriableError | OSError):
        reason = printable(last_warning) or _reason(error)
        fix = "check the address, security.protocol and whether the advertised listeners can be reached from here"
        return ClusterError(f"no answer: {reason}", where=at, fix=fix)
    return ClusterError(
        f"the client gave up: {_reason(error)}", where=at, fix="check --bootstrap-server and the options"
    )


def _reason(error: Exception) -> str:
    return printable(str(error)) or shown(type(error).__name__)
