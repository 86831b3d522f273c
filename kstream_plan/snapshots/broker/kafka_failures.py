"""What a failure of the client means for the reader: one sentence, where, and what to do."""

from __future__ import annotations

import logging
import re
from collections import Counter
from typing import Any

from kstream_plan.errors import ClusterError
from kstream_plan.snapshots.rows.fields import printable

_OFFSETS_TOPIC = "__consumer_offsets"
#: How a place begins that is about a group's settings.
SETTINGS_OF = "settings of "
#: How kafka-python words it.
_LOST = re.compile(r"<KafkaConnection .*Connection lost: ")
_FAILED = re.compile(
    r"Bootstrap (?:connection|attempt) to (?P<broker>\S+) failed: (?P<reason>.*) \(backoff .*\)", re.DOTALL
)
_REFUSED = re.compile(
    r"(?:\[Error \d+\] )?(?:(?:SaslAuthenticationFailed|UnsupportedSaslMechanism|IllegalSaslState)Error: )+"
)
#: Failures that waiting hardly mends: no process listens at the address, or there is no such address.
_NOBODY_THERE = re.compile(r"DNS Resolution failure|unable to connect|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH")
_TRIES = 3
_ERROR_PREFIX = re.compile(r"(?:\[Error \d+\] )?(?:\w+Error: )*")


class ConnectionWatch(logging.Handler):
    """Records why connections fail, which kafka-python writes to its log only.

    The client tries again whatever the reason, until its time is up. A refused login must not be tried again, or the
    account may be locked: the watch ends it by raising out of the log call. So it does, after some tries, if no process
    listens at any of the addresses.

    Args:
        errors: the module ``kafka.errors``.
        with_login: whether connections log in (SASL).
        servers: how many bootstrap servers there are.
    """

    def __init__(self, errors: Any, *, with_login: bool, servers: int) -> None:
        super().__init__(logging.WARNING)
        self.reason = ""
        self._servers = servers
        self._nobody_there: Counter[str] = Counter()
        self._errors = errors
        self._with_login = with_login
        self._logging_in = False

    def emit(self, record: logging.LogRecord) -> None:
        """Remember the reason of a failure; end what is of no use.

        Raises:
            SaslAuthenticationFailedError: the login was refused, or broken off.
            KafkaConfigurationError: the certificate is not trusted.
            KafkaConnectionError: no process listens there.
        """
        text = record.getMessage()
        if _LOST.search(text):
            self._logging_in = self._with_login and "broker_version=unknown" not in text
        match = _FAILED.fullmatch(text)
        if match is None:
            return
        self.reason = match["reason"]
        if _REFUSED.search(self.reason):
            raise self._errors.SaslAuthenticationFailedError(_REFUSED.sub("", self.reason))
        if self._logging_in and "disconnected" in self.reason:
            raise self._errors.SaslAuthenticationFailedError("the broker closed the connection during the login")
        if "CERTIFICATE_VERIFY_FAILED" in self.reason:
            raise self._errors.KafkaConfigurationError(self.reason)
        if _NOBODY_THERE.search(self.reason):
            self._nobody_there[match["broker"]] += 1
            if len(self._nobody_there) == self._servers and min(self._nobody_there.values()) >= _TRIES:
                raise self._errors.KafkaConnectionError(self.reason)


def coordinator_moves(errors: Any) -> tuple[type[Exception], ...]:
    """Return the errors that say that a group is on its way to another broker, or is still read there."""
    return errors.CoordinatorLoadInProgressError, errors.CoordinatorNotAvailableError, errors.NotCoordinatorError


def cluster_error(
    errors: Any, error: Exception, servers: str, resource: str, connection_failure: str, wait: str = ""
) -> ClusterError:
    """Return the error to show.

    Args:
        errors: the module ``kafka.errors``.
        error: what the client raised.
        servers: the bootstrap servers.
        resource: the group, topic or list that was requested.
        connection_failure: why the last connection failed, empty if none did.
        wait: the time-out, empty if the request failed before.
    """
    problem, fix = _meaning(
        errors, error, resource, _plain(connection_failure) or _plain(str(error)) or type(error).__name__
    )
    if wait:
        problem = problem.replace("no answer", f"no answer within {wait} (--set timeout)", 1)
    return ClusterError(problem, where=f"{resource} at {printable(servers)}", fix=fix)


def _meaning(errors: Any, error: Exception, resource: str, reason: str) -> tuple[str, str]:
    """Return what is wrong, and the fix."""
    if isinstance(error, errors.TopicAuthorizationFailedError):
        access = "Read" if _OFFSETS_TOPIC in resource else "Describe"
        topics = "the topics that the group reads and writes" if resource.startswith("group ") else "the topic"
        return "access is denied", f"grant the principal {access} on {topics}"
    if isinstance(error, errors.GroupAuthorizationFailedError) and resource.startswith(SETTINGS_OF):
        return "access is denied", "grant the principal DescribeConfigs on the group"
    if isinstance(error, errors.UnsupportedCodecError):
        return f"the records are compressed: {reason}", "pip install 'kafka-python[lz4,snappy,zstd]'"
    if "ECONNREFUSED" in reason:
        return f"the connection is refused: {reason}", "check that a broker listens at this address, and its port"
    meanings: tuple[tuple[tuple[type[Exception], ...], str, str], ...] = (
        ((errors.GroupAuthorizationFailedError,), "access is denied", "grant the principal Describe on the group"),
        (
            (errors.AuthorizationError,),
            "access is denied",
            'grant the principal what "kstream-plan help running-group" lists',
        ),
        (
            (
                errors.SaslAuthenticationFailedError,
                errors.UnsupportedSaslMechanismError,
                errors.IllegalSaslStateError,
            ),
            f"the login is refused: {_plain(str(error))}",
            "check sasl.mechanism and sasl.jaas.config in the --command-config file",
        ),
        (
            (errors.KafkaConfigurationError,),
            f"the connection is not secure: {_plain(str(error))}",
            "check ssl.truststore.*, and that the address is one of the certificate's names",
        ),
        (
            coordinator_moves(errors),
            f"its coordinator is not ready: {reason}",
            "try again in some seconds; if it stays so, look whether all brokers run",
        ),
        (
            (errors.UnsupportedVersionError,),
            f"the brokers do not support that: {reason}",
            "ask brokers of release 2.6 or newer; about streams groups, of 4.2 or newer with streams.version 1",
        ),
        (
            (errors.GroupIdNotFoundError,),
            f"is no longer a streams group: {reason}",
            "take the snapshot again; if it stays, give the application.id of the running application",
        ),
        (
            (errors.RetriableError, OSError),
            f"no answer: {reason}",
            "check the address, security.protocol, and that the brokers' advertised listeners can be reached from here",
        ),
    )
    for types, problem, fix in meanings:
        if isinstance(error, types):
            return problem, fix
    return f"the request failed: {reason}", "check that this is a Kafka broker, of release 2.6 or newer"


def _plain(text: str) -> str:
    """Return a message without the names of Python's errors before it."""
    return printable(_ERROR_PREFIX.sub("", text)).rstrip(".")
