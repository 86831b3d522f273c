"""Kafka's own ``client.properties``: what is done, and what is refused rather than passed over."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from kstream_plan.documents.client_properties import load_client_properties
from kstream_plan.errors import ConfigError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"

#: A certificate whose private key nobody has any more.
CERTIFICATE = (Path(__file__).parent / "certificate.pem").read_text(encoding="utf-8")


def load(tmp_path: Path, text: str) -> dict[str, object]:
    path = tmp_path / "client.properties"
    path.write_text(text, encoding="utf-8")
    return dict(load_client_properties(path))


def test_nothing_set_is_a_plain_connection(tmp_path: Path) -> None:
    assert load(tmp_path, "# nothing\nfetch.min.bytes=1\n") == {"security_protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)]
)
@pytest.mark.parametrize(
    "password",
    [
        ('"se;c=r et"', "se;c=r et"),
        ('"qu\\\\"ote"', 'qu"ote'),
        ("'single'", "single"),
        ("bare", "bare"),
    ],
)
def test_a_login(tmp_path: Path, mechanism: str, module: str, password: tuple[str, str]) -> None:
    written, meant = password
    arguments = load(
        tmp_path,
        f"security.protocol=sasl_plaintext\nsasl.mechanism={mechanism}\nclient.id=ops\nrequest.timeout.ms=9000\n"
        f'sasl.jaas.config={module} required \\\n    username="alice" \\\n    password={written};\n',
    )
    assert arguments == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": meant,
        "client_id": "ops",
        "request_timeout_ms": 9000,
    }


def test_tls_trusts_what_the_truststore_holds(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(CERTIFICATE, encoding="utf-8")
    text = f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={tmp_path / 'ca.pem'}\n"
    context = load(tmp_path, text)["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    assert len(context.get_ca_certs()) == 1
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    inline = CERTIFICATE.replace("\n", "\\n")
    again = load(tmp_path, f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates={inline}\n")
    assert again["ssl_context"].get_ca_certs() == context.get_ca_certs()  # type: ignore[attr-defined]


def test_no_host_name_is_checked_only_where_that_is_asked_for(tmp_path: Path) -> None:
    context = load(tmp_path, "security.protocol=SSL\nssl.endpoint.identification.algorithm=\n")["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    assert (context.check_hostname, context.verify_mode) == (False, ssl.CERT_REQUIRED)


SECRET = "hunter2"
SASL = "security.protocol=SASL_SSL\n"
REFUSED = {
    "security.protocol=TLS": "security.protocol is 'TLS'",
    "security.protocol=SASL_SSL": "sasl.mechanism GSSAPI is not supported",
    f"{SASL}sasl.mechanism=OAUTHBEARER": "sasl.mechanism OAUTHBEARER is not supported",
    f"{SASL}sasl.mechanism=PLAIN": "sasl.jaas.config is not one login for PLAIN",
    f'{SASL}sasl.mechanism=PLAIN\nsasl.jaas.config={SCRAM} required username="a" password="{SECRET}";': "for PLAIN",
    f'{SASL}sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} required username="a" password="{SECRET}"': "for PLAIN",
    f'{SASL}sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} required username="a";': "no username and password",
    f'{SASL}sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} required username="{SECRET} password=x;': "no username",
    f'{SASL}sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} required username="a" password="{SECRET}" x="1";': "has x",
    "config.providers=env": "config.providers is not supported",
    "ssl.cipher.suites=TLS_AES_128_GCM_SHA256": "ssl.cipher.suites is not supported",
    f"security.protocol=SSL\nssl.truststore.password={SECRET}": "ssl.truststore.password is not supported",
    "security.protocol=SSL\nssl.truststore.location=/x.jks": "ssl.truststore.type JKS is not supported",
    "security.protocol=SSL\nssl.keystore.type=PKCS12\nssl.keystore.location=/x.p12": "ssl.keystore.type PKCS12",
    "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=/no/such.pem": "/no/such.pem: cannot be",
    f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates={SECRET}": "truststore cannot",
    f"security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.certificate.chain={SECRET}": "keystore cannot",
    "security.protocol=SSL\nssl.endpoint.identification.algorithm=ldaps": "is 'ldaps'",
    "security.protocol=SSL\nssl.protocol=SSLv3": "ssl.protocol SSLv3 is not supported",
    "request.timeout.ms=soon": "request.timeout.ms is not a number of milliseconds",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_done_is_refused_and_no_secret_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text + "\n")
    assert REFUSED[text] in str(caught.value)
    assert caught.value.fix
    assert SECRET not in str(caught.value)


def test_settings_that_spell_out_the_defaults_are_fine(tmp_path: Path) -> None:
    text = (
        "security.protocol=SSL\nssl.protocol=TLSv1.3\nssl.enabled.protocols=TLSv1.2,TLSv1.3\nssl.keystore.password=\n"
    )
    assert "ssl_context" in load(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_client_properties(tmp_path / "none.properties")


@pytest.mark.parametrize("text", ["<html></html>", "Topologies:\n   Sub-topology: 0\n", "PK\x03\x04\x14\x00"])
def test_a_file_of_another_kind_is_no_login(text: str, tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text(text)
    with pytest.raises(ConfigError, match="not a file of client properties"):
        load_client_properties(tmp_path / "client.properties")
