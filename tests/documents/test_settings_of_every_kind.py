"""Settings in the forms in which people write them down: each is read, told to be unknown, or refused with a reason."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from kstream_plan.documents.connect_config import load_connect_config
from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.errors import ConfigError

HERE = Path(__file__).parent / "settings" / "kinds"
BOTH = {"num_standby_replicas": 1, "max_warmup_replicas": 6}
DELAY = {"scheduled_rebalance_max_delay_ms": 60000}


class Case(NamedTuple):
    """A file and what it sets; ``warning`` and ``error``: what is said of it."""

    name: str
    settings: Mapping[str, object] = BOTH
    warning: str = ""
    error: str = ""


STREAMS = [
    Case("cont.properties"),
    Case("unicode.properties"),
    Case("dup.properties"),
    Case("env-default.properties", warning="default"),
    Case("env-nodefault.properties", error="NUM_STANDBY"),
    Case("self-ref.properties"),
    Case("maven.properties", error="standby.replicas@"),
    Case("trailing.properties"),
    Case("crlfbom.properties"),
    Case("inline-comment.properties", error="#"),
    Case("server-consumer.properties", {"session_timeout_ms": 20000, "num_standby_replicas": 1}),
    Case("plainprefix.properties"),
    Case("ownprefix.properties"),
    Case("alpakka.conf"),
    Case(
        "haystack.conf",
        {
            "num_standby_replicas": 1,
            "max_warmup_replicas": 6,
            "heartbeat_interval_ms": 3000,
            "session_timeout_ms": 100000,
        },
    ),
    Case("hocon-subst.conf", {"num_standby_replicas": 0, "max_warmup_replicas": 6}, warning="NUM_STANDBY"),
    Case("hocon-json.conf"),
    Case("hocon-flat.conf"),
    Case("relaxed.env"),
    Case("own.env"),
    Case("bracket.yaml"),
    Case("nested.yml"),
    Case("profiles.yml", warning="profile"),
    Case("profile-group.yml"),
    Case("two-docs-no-profile.yml"),
    Case("spel.properties"),
    Case("clean.yml"),
    Case("springjson.env"),
    Case("springjson.properties"),
    Case("scs.yml"),
    Case("scs-func.yml"),
    Case("scs-2func.yml", error="several"),
    Case("scs-multibinder.properties"),
    Case("scs-multibinder.yml"),
    Case("scs-channel.yml", {"num_standby_replicas": 1}, warning="ignored"),
    Case("quarkus.yaml", warning="%prod counts"),
    Case("quarkus.env"),
    Case("quarkusprod.properties", warning="%prod counts"),
    Case("quarkusmulti.properties"),
    Case("micronaut.yml"),
    Case("micronaut2.yml", error="several"),
    Case("micronaut-props.properties"),
    Case("helidon.yaml", {}, warning="ignored"),
    Case("camelcase.yml", {}, warning="numStandbyReplicas"),
    Case("dropwizard.yml", {}, warning="ignored"),
    Case("bakdata-v2.yaml"),
    Case("bakdata-v3.yaml"),
    Case("ksql.yml"),
    Case("ksqlopts.yml"),
    Case("ksql-bare.properties"),
    Case("ksql-consumer.properties", {"session_timeout_ms": 30000, "num_standby_replicas": 1}),
    Case("ksql-streams.env"),
    Case("ksql-cli.txt"),
    Case("ksql-cfk.yaml"),
    Case("ksql-helm.yaml"),
    Case("cm-props.yaml"),
    Case("cm-appyml.yaml"),
    Case("cm-noext.yaml"),
    Case("cm-conf.yaml"),
    Case("dep-valuefrom.yaml"),
    Case("dep-valuefrom-missing.yaml", {"max_warmup_replicas": 6}, warning="orders-config"),
    Case("dep-secretkeyref.yaml"),
    Case("dep-envfrom-prefix.yaml"),
    Case("dep-envref.yaml"),
    Case("dep-javaopts.yaml"),
    Case("dep-sidecar.yaml"),
    Case("dep-override.yaml"),
    Case("two-cms.yaml", error="leave one"),
    Case("kustomize.yaml"),
    Case("helm-values.yaml"),
    Case("helm-values-map.yaml"),
    Case("helm-config.yaml"),
    Case("helm-tpl.yaml", error="template of Helm"),
    Case("kubectl-list.json"),
    Case("pod-describe.txt"),
    Case("exec-env.txt"),
    Case("terraform.tfvars"),
    Case("ecs-task.json"),
    Case("docker-inspect.json"),
    Case("docker-run.sh"),
    Case("Dockerfile"),
    Case("systemd.service"),
    Case("compose-anchors.yml"),
    Case("compose-default.yml", warning="default"),
    Case("compose-envfile.yml", {"max_warmup_replicas": 6}, warning="streams.env"),
    Case("Main.java"),
    Case("Main2.java", {"num_standby_replicas": 1, "max_warmup_replicas": 6, "session_timeout_ms": 30000}),
    Case("Main.kt"),
    Case("Main.scala"),
    Case("Var.java", {"max_warmup_replicas": 6}, warning="config.standbys()"),
    Case("flat.json"),
    Case("printed.txt"),
    Case("set.env"),
    Case("argocd-values.yaml"),
    Case("compose-options.yaml"),
    Case("strings.json", {"num_standby_replicas": 1, "max_warmup_replicas": 6, "rack_aware_assignment_tags": ()}),
    Case("appsettings.json"),
    Case("actuator-env.json"),
    Case("actuator-overridden.json"),
    Case(
        "streamsconfig.log",
        {
            "num_standby_replicas": 1,
            "max_warmup_replicas": 6,
            "acceptable_recovery_lag": 10000,
            "probing_rebalance_interval_ms": 600000,
            "rack_aware_assignment_tags": (),
        },
    ),
    Case(
        "values-only.txt",
        {
            "num_standby_replicas": 1,
            "max_warmup_replicas": 6,
            "acceptable_recovery_lag": 10000,
            "rack_aware_assignment_tags": (),
        },
    ),
    Case("toml.toml"),
    Case("deciding.yaml", {"num_standby_replicas": 1}),
    Case("pod-tool-options.yaml", warning="missing"),
    Case("mapOf.kts"),
    Case("MapOf.java"),
    Case("python-env.txt"),
    Case("deployment.tf"),
    Case("cloudformation.yaml", {"num_standby_replicas": 1}, warning="what !Ref Warm is"),
    Case("not-profile.yml", {"num_standby_replicas": 0, "max_warmup_replicas": 6}, warning="default"),
    Case("active-profile.properties"),
    Case("two-files.yaml", error="leave one"),
    Case("beans.xml"),
]

CONNECT = [
    Case("cp-connect.yml", {"scheduled_rebalance_max_delay_ms": 60000, "session_timeout_ms": 30000}),
    Case("mm2.yaml", DELAY),
    Case("cfk-connect.yaml", DELAY),
    Case("cp-helm-connect.yaml", DELAY),
    Case("worker.properties", DELAY),
    Case(
        "connect-log.txt",
        {
            "scheduled_rebalance_max_delay_ms": 60000,
            "connect_protocol": "sessioned",
            "heartbeat_interval_ms": 3000,
            "rebalance_timeout_ms": 60000,
            "session_timeout_ms": 10000,
        },
    ),
    Case("debezium-server.env", DELAY),
    Case("mm2-v1.yaml", DELAY),
    Case("connect-configmap.yaml", DELAY),
]


def _check(case: Case, settings: Mapping[str, object], warnings: tuple[str, ...]) -> None:
    assert settings == case.settings
    assert case.warning in " ".join(warnings)
    assert bool(case.warning) is bool(warnings)


@pytest.mark.parametrize("case", [case for case in STREAMS if not case.error], ids=lambda case: case.name)
def test_an_applications_settings_are_read_in_every_form(case: Case) -> None:
    file = load_streams_config(HERE / case.name)
    _check(case, file.overrides, file.warnings)


@pytest.mark.parametrize("case", CONNECT, ids=lambda case: case.name)
def test_a_workers_settings_are_read_in_every_form(case: Case) -> None:
    file = load_connect_config(HERE / case.name)
    _check(case, file.settings, file.warnings)


@pytest.mark.parametrize("case", [case for case in STREAMS if case.error], ids=lambda case: case.name)
def test_what_cannot_be_read_says_why(case: Case) -> None:
    with pytest.raises(ConfigError) as error:
        load_streams_config(HERE / case.name)
    assert case.error in f"{error.value} {error.value.fix}"


def test_every_file_is_tried() -> None:
    assert {case.name for case in (*STREAMS, *CONNECT)} == {path.name for path in HERE.iterdir()}
