"""``client.properties`` of Kafka's own tools (``--command-config``) → the arguments of the Python client.

Names and meanings: ``SaslConfigs``, ``SslConfigs`` and ``CommonClientConfigs`` of Apache Kafka. What decides how the
connection is secured is either done or refused, never passed over; other settings (of consumers, say) are ignored, as
Kafka's tools do.
"""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from kstream_plan.documents.java_properties import parse_properties
from kstream_plan.documents.mistakes import Mistakes
from kstream_plan.errors import ConfigError
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file
from kstream_plan.snapshots.files.kinds import SETTINGS, file_kind, other_kind
from kstream_plan.snapshots.rows.fields import shown

_SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
#: Mechanism → the login modules that Kafka has for it.
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_KNOWN = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.jaas.config",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.type",
        "ssl.protocol",
    }
)
#: User and password for a REST interface, as other clients of Kafka's name them.
_USER_INFO = "basic.auth.user.info"
#: What makes a name one that decides about security; refused unless it is known.
_SECURITY = re.compile(r"(?:sasl|ssl|security|config\.providers)(?:\..*)?")
_JAAS = re.compile(r"\s*(?P<module>[\w.$]+)\s+required\b(?P<options>.*?);\s*", re.DOTALL)
_JAAS_OPTION = re.compile(
    r"""\s*(?P<name>\w+)\s*=\s*(?:"(?P<text>(?:\\.|[^"\\])*)"|'(?P<single>(?:\\.|[^'\\])*)'|(?P<bare>[^\s;"']+))"""
)
_PEM_FIX = (
    "convert it to PEM: keytool -importkeystore -srckeystore FILE -destkeystore store.p12 -deststoretype PKCS12, then "
    "openssl pkcs12 -in store.p12 -out store.pem"
)


def load_client_properties(path: Path) -> Mapping[str, Any]:
    """Read a ``client.properties`` file.

    Args:
        path: the file.

    Returns:
        Arguments of ``kafka.KafkaAdminClient`` and ``kafka.KafkaConsumer``: ``security_protocol``, ``sasl_mechanism``,
        ``sasl_plain_username``, ``sasl_plain_password``, ``ssl_context``, ``client_id``, ``request_timeout_ms``; only
        those that the file decides.

    Raises:
        ConfigError: the file, or one that it names, cannot be read; a setting has a wrong value or is not supported.
            No secret is in the message.
    """
    return _arguments(_settings_in(path))


class RestLogin(NamedTuple):
    """How to log in to a REST interface: what TLS trusts and shows, and ``user:password`` if there is one."""

    ssl_context: ssl.SSLContext
    user_info: str | None


def load_rest_login(path: Path) -> RestLogin:
    """Read from a ``client.properties`` file how to log in to a REST interface.

    Its ``ssl.…`` settings count as they do for brokers, and ``basic.auth.user.info`` is ``user:password``.

    Raises:
        ConfigError: as for :func:`load_client_properties`.
    """
    settings = _settings_in(path)
    user_info = settings.get(_USER_INFO) or None
    if user_info is not None and ":" not in user_info:
        raise settings.fail(_USER_INFO, f"{_USER_INFO} is no user and password", "write it as USER:PASSWORD")
    return RestLogin(_ssl_context(settings), user_info)


def _settings_in(path: Path) -> _Settings:
    file_name = str(path)
    try:
        data = read_file(path, SETTINGS_BYTES)
        if (kind := file_kind(data)) not in (None, SETTINGS):
            raise other_kind(kind, "a file of client properties", file_name, ConfigError)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None
    settings = parse_properties(text, file_name)
    places = {setting.name: f"{file_name}, line {setting.line}" for setting in settings}
    return _Settings({setting.name: str(setting.value).strip() for setting in settings}, places, file_name)


class _Settings(NamedTuple):
    """What a file sets, and where."""

    values: Mapping[str, str]
    places: Mapping[str, str]
    file: str

    def get(self, name: str, default: str = "") -> str:
        return self.values.get(name, default)

    def fail(self, name: str, problem: str, fix: str) -> ConfigError:
        """Return the error for a problem of this setting."""
        return ConfigError(problem, where=self.places.get(name, self.file), fix=fix)


def _arguments(settings: _Settings) -> Mapping[str, Any]:
    with Mistakes() as mistakes:
        for name, value in sorted(settings.values.items()):
            if _SECURITY.fullmatch(name) and name not in _KNOWN and value and not _is_default(name, value):
                mistakes.note(settings.fail(name, f"{name} is not supported", _instead(name)))
        protocol = mistakes.read(lambda: _protocol(settings), "")
        arguments: dict[str, Any] = {"security_protocol": protocol}
        if protocol.startswith("SASL"):
            arguments |= mistakes.read(lambda: _sasl(settings), {})
        if protocol.endswith("SSL"):
            arguments["ssl_context"] = mistakes.read(lambda: _ssl_context(settings), None)
        if settings.get("client.id"):
            arguments["client_id"] = settings.get("client.id")
        if settings.get("request.timeout.ms"):
            arguments["request_timeout_ms"] = _milliseconds(settings, "request.timeout.ms")
        return MappingProxyType(arguments)


def _protocol(settings: _Settings) -> str:
    protocol = settings.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _SECURITY_PROTOCOLS:
        fix = f"give one of {', '.join(_SECURITY_PROTOCOLS)}"
        raise settings.fail("security.protocol", f"security.protocol is {shown(protocol)}", fix)
    return protocol


def _is_default(name: str, value: str) -> bool:
    """Return whether a value is one that Kafka has by default, and that files often spell out."""
    return (name, value) in (
        ("ssl.enabled.protocols", "TLSv1.2,TLSv1.3"),
        ("ssl.enabled.protocols", "TLSv1.3,TLSv1.2"),
        ("ssl.enabled.protocols", "TLSv1.2"),
    )


def _instead(name: str) -> str:
    if name.startswith(("ssl.keystore.password", "ssl.truststore.password")):
        return f"leave it out: only stores of type PEM are supported, and they have none; {_PEM_FIX}"
    return "leave it out if the cluster can be reached without it, or take the snapshot from the leader's log"


def _milliseconds(settings: _Settings, name: str) -> int:
    text = settings.get(name)
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise settings.fail(name, f"{name} is not a number of milliseconds", "write it like 30000")
    return int(text)


def _sasl(settings: _Settings) -> dict[str, str]:
    mechanism = settings.get("sasl.mechanism", "GSSAPI").upper()
    module = _LOGIN_MODULES.get(mechanism)
    if module is None:
        fix = f"give one of {', '.join(_LOGIN_MODULES)}, or take the snapshot from the leader's log"
        raise settings.fail("sasl.mechanism", f"sasl.mechanism {mechanism} is not supported", fix)
    example = f'write {module} required username="…" password="…";'
    match = _JAAS.fullmatch(settings.get("sasl.jaas.config"))
    if match is None or match["module"] != module:
        raise settings.fail("sasl.jaas.config", f"sasl.jaas.config is not one login for {mechanism}", example)
    options = _jaas_options(match["options"])
    if options is None or not {"username", "password"} <= options.keys():
        raise settings.fail("sasl.jaas.config", "sasl.jaas.config names no username and password", example)
    if options.keys() - {"username", "password"}:
        unsupported_option = sorted(options.keys() - {"username", "password"})[0]
        raise settings.fail(
            "sasl.jaas.config", f"sasl.jaas.config has {unsupported_option}, which is not supported", example
        )
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": options["username"],
        "sasl_plain_password": options["password"],
    }


def _jaas_options(text: str) -> dict[str, str] | None:
    options, position = {}, 0
    while text[position:].strip():
        match = _JAAS_OPTION.match(text, position)
        if match is None:
            return None
        quoted = match["text"] if match["text"] is not None else match["single"]
        options[match["name"]] = match["bare"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        position = match.end()
    return options


def _ssl_context(settings: _Settings) -> ssl.SSLContext:
    """Trust what the truststore holds, or what the system trusts; show the keystore's certificate, if there is one."""
    for store in ("truststore", "keystore"):
        _check_store(settings, store)
    protocol = settings.get("ssl.protocol", "TLSv1.3")
    if protocol not in ("TLSv1.3", "TLSv1.2", "TLS"):
        raise settings.fail("ssl.protocol", f"ssl.protocol {protocol} is not supported", "give TLSv1.2 or TLSv1.3")
    trusted_certificates = _pem_text(settings, "ssl.truststore.certificates", "ssl.truststore.location")
    context: ssl.SSLContext
    context = _load_store(
        "the truststore", settings.file, lambda: ssl.create_default_context(cadata=trusted_certificates or None)
    )
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    algorithm = settings.get("ssl.endpoint.identification.algorithm", "https")
    if algorithm.lower() not in ("https", ""):
        name = "ssl.endpoint.identification.algorithm"
        raise settings.fail(name, f"{name} is {algorithm!r}", "give https, or nothing to check no host name")
    context.check_hostname = bool(algorithm)
    chain = _pem_text(settings, "ssl.keystore.certificate.chain", "ssl.keystore.location")
    key = settings.get("ssl.keystore.key")
    if chain:
        _load_store("the keystore", settings.file, lambda: _load_chain(context, f"{chain}\n{key}\n", settings))
    return context


def _check_store(settings: _Settings, store: str) -> None:
    """Kafka's default type is JKS; Python can read PEM only."""
    kind = settings.get(f"ssl.{store}.type", "JKS").upper()
    inline = "ssl.truststore.certificates" if store == "truststore" else "ssl.keystore.certificate.chain"
    if kind != "PEM" and (settings.get(f"ssl.{store}.location") or settings.get(inline)):
        problem = f"ssl.{store}.type {kind} is not supported, only PEM is"
        raise settings.fail(f"ssl.{store}.location", problem, f"{_PEM_FIX}, and set ssl.{store}.type=PEM")


def _pem_text(settings: _Settings, inline: str, location: str) -> str:
    if settings.get(inline):
        return settings.get(inline)
    if not settings.get(location):
        return ""
    path = Path(settings.get(location))
    try:
        return read_file(path, SETTINGS_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None


def _load_chain(context: ssl.SSLContext, pem: str, settings: _Settings) -> None:
    """Python loads a certificate from a file only; this one is private and gone at once."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".pem") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name, password=lambda: settings.get("ssl.key.password"))


def _load_store(store: str, file_name: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        fix = "give PEM: certificates, and in the keystore their private key (ssl.key.password if it is encrypted)"
        raise ConfigError(f"{store} cannot be used: {reason}", where=file_name, fix=fix) from None


def _unreadable(path: Path, error: OSError | UnicodeDecodeError) -> ConfigError:
    reason = (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is not UTF-8"
    return ConfigError(f"cannot be read: {reason}", where=str(path), fix="check the path")
