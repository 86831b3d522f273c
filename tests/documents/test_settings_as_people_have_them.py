"""Settings are found wherever an application or a worker has them, and none that is known is dropped without a word."""

import json
import re
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kstream_plan
from kstream_plan.cli import run
from kstream_plan.documents.connect_config import load_connect_config
from kstream_plan.documents.frameworks import FRAMEWORKS, Framework, plain_settings
from kstream_plan.documents.java_properties import Setting
from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.errors import ConfigError

HERE = Path(__file__).parent / "settings"
BOTH = {"num_standby_replicas": 1, "max_warmup_replicas": 6}
KNOWN = ("num_standby_replicas", "max_warmup_replicas", "session_timeout_ms", "consumer_session_timeout_ms")


@pytest.mark.parametrize(
    "name",
    [
        "ksql-server.properties",
        "ksql.env",
        "mixed-spring.properties",
        "placeholders.properties",
        "prefix.properties",
        "quarkus.properties",
        "spring.properties",
        "configmap.yaml",
        "compose.yaml",
        "list.yaml",
        "files.yaml",
    ],
)
def test_settings_are_read_under_the_names_of_frameworks_and_resources(name: str) -> None:
    assert load_streams_config(HERE / name).overrides == BOTH


def test_spring_in_yaml() -> None:
    assert load_streams_config(HERE / "spring.yaml").overrides == {**BOTH, "probing_rebalance_interval_ms": 60_000}


def test_threads_are_read_under_a_prefix_too() -> None:
    assert load_streams_config(HERE / "ksql-server.properties").threads == 4


@pytest.mark.parametrize("name", ["compose.env", "debezium.env", "mm2.properties", "mm2b.properties", "strimzi.yaml"])
def test_a_workers_settings_are_read_in_every_form(name: str) -> None:
    assert load_connect_config(HERE / "connect" / name).settings["scheduled_rebalance_max_delay_ms"] == 60_000


def test_of_several_documents_the_first_counts_and_the_others_are_named() -> None:
    file = load_streams_config(HERE / "multidoc.yaml")
    assert file.overrides == {"num_standby_replicas": 0}
    (warning,) = file.warnings
    assert "multidoc.yaml, line 4: this document (spring.config.activate.on-profile: prod) is left out" in warning


def test_a_placeholder_counts_as_its_default_and_is_told() -> None:
    (warning,) = load_streams_config(HERE / "placeholders.properties").warnings
    assert "line 3: num.standby.replicas is ${STANDBYS:1}: its default counts" in warning


def test_a_placeholder_without_a_default_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.env").write_text("STREAMS_NUM_STANDBY_REPLICAS=${STANDBYS}\n")
    with pytest.raises(ConfigError, match=r"line 1: STREAMS_NUM_STANDBY_REPLICAS is '\$\{STANDBYS\}', not a whole"):
        load_streams_config(tmp_path / "a.env")


def test_of_two_values_the_one_that_does_not_count_is_named() -> None:
    (warning,) = load_streams_config(HERE / "mixed-spring.properties").warnings
    assert warning.endswith(
        "line 3: max.warmup.replicas is ignored: spring.kafka.streams.properties.max.warmup.replicas counts"
    )


def test_what_is_known_under_an_unknown_prefix_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("application.id=orders\nacme.kafka-num.standby.replicas=1\n")
    file = load_streams_config(tmp_path / "a.properties")
    assert file.overrides == {}
    (warning,) = file.warnings
    assert warning.endswith(
        "line 2: acme.kafka-num.standby.replicas is ignored: no framework that is known writes num.standby.replicas so"
    )


def test_variables_are_read_with_export_and_quotes(tmp_path: Path) -> None:
    (tmp_path / "a.env").write_text("export KSQL_KSQL_STREAMS_NUM_STANDBY_REPLICAS=\"1\"\nexport OTHER='x'\n")
    assert load_streams_config(tmp_path / "a.env").overrides == {"num_standby_replicas": 1}


def test_a_streams_groups_own_settings_stay_the_groups(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("streams.num.standby.replicas=1\n")
    file = load_streams_config(tmp_path / "a.properties")
    assert (file.overrides, dict(file.group)) == ({}, {"num_standby_replicas": 1})


def spellings(name: str) -> st.SearchStrategy[str]:
    """Ways to write a dotted name: as it is, in capitals with underscores, with dashes."""
    return st.sampled_from([name, re.sub("[^A-Za-z0-9]+", "_", name).upper(), name.replace(".", "-")])


@given(st.data(), st.sampled_from(FRAMEWORKS), st.sampled_from(KNOWN), st.from_regex("[a-z]{1,8}", fullmatch=True))
def test_every_prefix_is_taken_off_in_every_spelling(
    data: st.DataObject, framework: Framework, name: str, own: str
) -> None:
    prefix = framework.prefix.replace("*", own)
    written = data.draw(spellings(prefix + name.replace("_", ".")))
    plain = plain_settings([Setting(written, "1", 1)], KNOWN, "a")
    assert [setting.key for setting in plain.settings] == [name]
    assert len(plain.warnings) == ("." not in written and written.islower())  # Kafka does not read names with dashes


@given(
    st.lists(st.from_regex("[a-z]{1,6}", fullmatch=True), min_size=1, max_size=3),
    st.sampled_from(KNOWN),
    st.sampled_from("._-"),
)
def test_no_known_name_is_dropped_without_a_word(parts: list[str], name: str, separator: str) -> None:
    written = ".".join(parts) + separator + name.replace("_", ".")
    plain = plain_settings([Setting(written, "1", 1)], KNOWN, "a")
    other_client = parts[-1] in ("restore", "global", "admin", "producer", "zookeeper")
    taken = any(setting.key in KNOWN for setting in plain.settings)
    assert taken or plain.warnings or other_client


@pytest.mark.parametrize("client", ["restore.consumer", "global.consumer", "producer"])
def test_other_clients_settings_are_none_of_the_groups(client: str) -> None:
    written = f"spring.kafka.streams.properties.{client}.session.timeout.ms"
    plain = plain_settings([Setting(written, "1", 1)], KNOWN, "a")
    assert [setting.known_as for setting in plain.settings] == [""]
    assert not plain.warnings


def test_the_page_has_every_framework_in_one_row_with_its_prefix_and_source() -> None:
    page = (Path(kstream_plan.__file__).parent / "pages" / "settings.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    for framework in FRAMEWORKS:
        (source,) = [row[0] for row in rows if f"`{framework.prefix}`" in row[1]]
        assert framework.source in source
    named = {prefix for row in rows for prefix in re.findall(r"`([a-z.*-]+\.)`", row[1])}
    assert named == {framework.prefix for framework in FRAMEWORKS}


@pytest.mark.parametrize(
    ("name", "text", "standbys", "warning"),
    [
        (
            "spring.properties",
            "num.standby.replicas=1\n#---\nspring.config.activate.on-profile=dev\nnum.standby.replicas=5\n",
            1,
            "line 2: this document (spring.config.activate.on-profile: dev) is left out",
        ),
        (
            "first.yaml",
            "spring.config.activate.on-profile: dev\nnum.standby.replicas: 5\n---\nnum.standby.replicas: 1\n",
            1,
            "line 1: this document (spring.config.activate.on-profile: dev) is left out",
        ),
        (
            "quarkus.properties",
            '%prod.kafka-streams.num.standby.replicas=1\nkafka-streams.num.standby.replicas=5\n"%dev".x=1\n',
            1,
            "line 2: kafka-streams.num.standby.replicas is ignored: %prod.kafka-streams",
        ),
        (
            "json.env",
            "SPRING_APPLICATION_JSON='{\"spring.kafka.streams.properties.num.standby.replicas\": 1}'\n",
            1,
            "",
        ),
        ("java.env", 'JAVA_OPTS="-Xmx1g -Dspring.kafka.streams.properties.num.standby.replicas=1"\n', 1, ""),
        ("args.yaml", "containers:\n- args: [--spring.kafka.streams.properties.num.standby.replicas=1]\n", 1, ""),
        ("helm.yaml", "extraEnv:\n- {name: STREAMS_NUM_STANDBY_REPLICAS, value: 1}\n", 1, ""),
        (
            "list.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n"
            "  data: {STREAMS_NUM_STANDBY_REPLICAS: 1}\n",
            1,
            "",
        ),
        ("empty-first.yaml", "---\n---\nnum.standby.replicas: 1\n", 1, ""),
        (
            "init.yaml",
            "initContainers:\n- env: [{name: STREAMS_NUM_STANDBY_REPLICAS, value: 5}]\nnum_standby_replicas: 1",
            1,
            "",
        ),
        (
            "inner.yaml",
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  application.yml: |\n    num.standby.replicas: 1\n    ---\n"
            "    spring.config.activate.on-profile: dev\n    num.standby.replicas: 5\n",
            1,
            "this document (spring.config.activate.on-profile: dev) is left out",
        ),
    ],
)
def test_where_else_settings_stand(tmp_path: Path, name: str, text: str, standbys: int, warning: str) -> None:
    (tmp_path / name).write_text(text)
    file = load_streams_config(tmp_path / name)
    assert file.overrides == {"num_standby_replicas": standbys}
    assert warning in "\n".join(file.warnings)
    assert bool(warning) is bool(file.warnings)


def test_two_services_that_differ_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "services:\n  a: {environment: {STREAMS_NUM_STANDBY_REPLICAS: 1}}\n"
        "  b:\n    environment: [STREAMS_NUM_STANDBY_REPLICAS=3]\n"
    )
    with pytest.raises(ConfigError, match=r"is '1' in services.a \(line 2\) and '3' in services.b \(line 4\)"):
        load_streams_config(tmp_path / "a.yaml")


def test_two_config_maps_that_differ_are_an_error(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata:\n  app.properties: num.standby.replicas=N\n"
    maps = [text.replace("NAME", name).replace("=N", f"={number}") for name, number in (("a", "1"), ("b", "2"))]
    (tmp_path / "a.yaml").write_text("---\n".join(maps))
    with pytest.raises(ConfigError, match=r"is '1' in app.properties of ConfigMap a .* and '2' in .* of ConfigMap b"):
        load_streams_config(tmp_path / "a.yaml")


def test_a_name_that_is_a_list_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("? [a, b]\n: 4\nnum.standby.replicas: 1\n")
    assert load_streams_config(tmp_path / "a.yaml").overrides == {"num_standby_replicas": 1}


@pytest.mark.parametrize(
    "name", ["task.assignor.class", "main.consumer.internal.leave.group.on.close", "my.upgrade.from"]
)
def test_what_decides_counts_under_any_prefix(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.properties").write_text(f"application.id=a\n{name}=true\n")
    assert list(load_streams_config(tmp_path / "a.properties").deciding.values()) == ["true"]


@pytest.mark.parametrize(
    ("text", "stores"),
    [
        ("dsl.store.suppliers.class=com.acme.RocksDBLike\ndefault.dsl.store=rocksDB", None),
        ("default.dsl.store=rocksDB", "persistent"),
        ("default.dsl.store=in_memory", "in-memory"),
        (
            "dsl.store.suppliers.class=org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers",
            "in-memory",
        ),
        (
            "dsl.store.suppliers.class=org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$RocksDBDslStoreSuppliers\n"
            "default.dsl.store=in_memory",
            "persistent",
        ),
    ],
)
def test_only_kafkas_own_suppliers_tell_where_stores_are(tmp_path: Path, text: str, stores: str | None) -> None:
    (tmp_path / "a.properties").write_text(text)
    assert load_streams_config(tmp_path / "a.properties").stores == stores


def _file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.properties", "rack.aware.assignment.tags[0]=zone\nrack.aware.assignment.tags[1]=rack\n"),
        (
            "a.yaml",
            "spring.kafka.streams.properties:\n  rack.aware.assignment.tags[0]: zone\n"
            "  rack.aware.assignment.tags[1]: rack\n",
        ),
        (
            "a.env",
            "STREAMS_RACK_AWARE_ASSIGNMENT_TAGS_0=zone\nSTREAMS_RACK_AWARE_ASSIGNMENT_TAGS_1=rack # of the node\n",
        ),
    ],
)
def test_the_items_of_a_list_may_stand_one_by_one(name: str, text: str, tmp_path: Path) -> None:
    assert load_streams_config(_file(tmp_path, name, text)).overrides == {
        "rack_aware_assignment_tags": ("zone", "rack")
    }


def test_nested_placeholders_count_as_their_innermost_default(tmp_path: Path) -> None:
    file = load_streams_config(_file(tmp_path, "a.properties", "num.standby.replicas=${A:${B:2}}\n"))
    assert file.overrides == {"num_standby_replicas": 2}
    assert "is ${A:${B:2}}: its default counts" in file.warnings[0]
    with pytest.raises(ConfigError, match="not a whole"):
        load_streams_config(_file(tmp_path, "b.properties", "num.standby.replicas=${A:${B}}\n"))


@pytest.mark.parametrize("value", ["2", "2  # two", "'2' # two", '"2"'])
def test_a_comment_behind_a_variable_does_not_count(value: str, tmp_path: Path) -> None:
    file = load_streams_config(_file(tmp_path, "a.env", f"STREAMS_NUM_STANDBY_REPLICAS={value}\n"))
    assert file.overrides == {"num_standby_replicas": 2}


def test_a_name_in_camel_case_is_told_to_be_none_of_kafkas(tmp_path: Path) -> None:
    text = "application.id: a\nstreams:\n  numStandbyReplicas: 2\n  cacheName: x\n"
    file = load_streams_config(_file(tmp_path, "a.yaml", text))
    assert file.overrides == {}
    (warning,) = file.warnings
    assert "line 3: streams.numStandbyReplicas is ignored" in warning
    assert "num.standby.replicas" in warning


def test_a_setting_that_does_not_count_is_among_the_warnings_of_a_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = str(Path(__file__).parents[2] / "examples" / "scale-out" / "snapshot.json")
    settings = _file(tmp_path, "a.properties", "application.id=orders\nmy.num.standby.replicas=1\n")
    assert run(["assign", snapshot, "--streams-config", str(settings), "--out", str(tmp_path / "plan.json")]) == 0
    warnings = json.loads((tmp_path / "plan.json").read_text())["warnings"]
    assert [each["code"] for each in warnings if "my.num.standby.replicas is ignored" in each["message"]] == [
        "setting-ignored"
    ]
    assert "my.num.standby.replicas is ignored" in " ".join(capsys.readouterr().out.split())


def test_a_secret_in_base64_is_read(tmp_path: Path) -> None:
    inner = b64encode(b"num.standby.replicas=1\n# two\nmax.warmup.replicas=6\n").decode()
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: orders}}\ndata:\n  app.properties: {inner}\n"
    assert load_streams_config(_file(tmp_path, "a.yaml", text)).overrides == BOTH
    plain = f"apiVersion: v1\nkind: Secret\ndata:\n  STREAMS_NUM_STANDBY_REPLICAS: {b64encode(b'1').decode()}\n"
    assert load_streams_config(_file(tmp_path, "b.yaml", plain)).overrides == {"num_standby_replicas": 1}


DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: orders}
spec:
  template:
    spec:
      containers:
        - name: orders
          envFrom:
            - configMapRef: {name: settings}
            - secretRef:
                name: login
          env:
            - {name: STREAMS_MAX_WARMUP_REPLICAS, value: "6"}
"""
CONFIG_MAP = """---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {STREAMS_NUM_STANDBY_REPLICAS: "1"}
"""


def test_an_environment_from_other_resources_is_read_or_told(tmp_path: Path) -> None:
    whole = load_streams_config(_file(tmp_path, "whole.yaml", DEPLOYMENT + CONFIG_MAP))
    assert whole.overrides == BOTH
    (warning,) = whole.warnings
    assert "line 12: the environment is also from Secret login, which is not here" in warning
    alone = load_streams_config(_file(tmp_path, "alone.yaml", DEPLOYMENT))
    assert [each.rpartition("kubectl get ")[2] for each in alone.warnings] == [
        "configmap settings -o yaml prints",
        "secret login -o yaml prints",
    ]


def test_where_no_setting_is_known_the_resource_that_may_have_some_is_named(tmp_path: Path) -> None:
    text = DEPLOYMENT.replace("STREAMS_MAX_WARMUP_REPLICAS", "OTHER")
    with pytest.raises(ConfigError) as error:
        load_streams_config(_file(tmp_path, "a.yaml", text))
    assert error.value.fix == "add what kubectl get configmap settings -o yaml prints"


@pytest.mark.parametrize(
    ("name", "text", "place", "fix"),
    [
        ("a.properties", "my.app.num.standby.replicas=1\n", "line 1: my.app.num.standby.replicas", "without a prefix"),
        ("b.properties", "foo=1\nnumStandbyReplicas: 2\n", "line 2: numStandbyReplicas", "without a prefix"),
        (
            "c.yaml",
            "spring.cloud.stream.kafka.streams.bindings.in-0.consumer.configuration.num.standby.replicas: 1\n",
            "line 1: spring.cloud.stream.kafka.streams.bindings.in-0.consumer.configuration.num.standby.replicas",
            "or spring.cloud.stream.kafka.streams.binder.configuration.num.standby.replicas",
        ),
    ],
)
def test_where_all_that_is_known_stands_under_an_unknown_prefix_the_error_names_it(
    tmp_path: Path, name: str, text: str, place: str, fix: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load_streams_config(_file(tmp_path, name, text))
    assert f"{place} does not count: no framework that is known writes num.standby.replicas so" in str(error.value)
    assert error.value.fix.startswith("write num.standby.replicas")
    assert fix in error.value.fix


def test_where_all_of_a_workers_stands_under_an_unknown_prefix_the_error_names_it(tmp_path: Path) -> None:
    text = "my.app.scheduled.rebalance.max.delay.ms=1\nmy.app.connect.protocol=eager\n"
    with pytest.raises(ConfigError, match=r"line 1: my.app.scheduled.rebalance.max.delay.ms does not count, nor 1 mor"):
        load_connect_config(_file(tmp_path, "a.properties", text))


def test_the_binary_data_of_a_config_map_is_read(tmp_path: Path) -> None:
    inner = b64encode(b"num.standby.replicas=1\n# two\nmax.warmup.replicas=6\n").decode()
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: orders}}\nbinaryData:\n  app.properties: {inner}\n"
    assert load_streams_config(_file(tmp_path, "a.yaml", text)).overrides == BOTH


@pytest.mark.parametrize(
    "text",
    [
        '<prop key="num.standby.replicas">1</prop>\n',
        '<!-- <prop key="num.standby.replicas">5</prop> -->\n<entry key="num.standby.replicas">\n1\n</entry>\n',
        '<?xml version="1.0"?>\n<entry key="num.standby.replicas"><value>1</value></entry>\n',
    ],
)
def test_elements_of_xml_are_read(text: str, tmp_path: Path) -> None:
    assert load_streams_config(_file(tmp_path, "a.xml", text)).overrides == {"num_standby_replicas": 1}


def test_settings_of_a_streams_group_are_told_for_a_classic_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app.properties"
    path.write_text("application.id=orders\nstreams.num.standby.replicas=1\n", encoding="utf-8")
    snapshot = str(Path(kstream_plan.__file__).parents[1] / "examples" / "scale-out" / "snapshot.json")
    now = ["--set", "now=2026-11-21T13:01:00Z"]
    assert run(["assign", snapshot, "--streams-config", str(path), *now]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Warning: streams.num.standby.replicas: set for a streams group, without effect in this one" in shown


@pytest.mark.parametrize("name", ["a.json", "a.json5", "a.jsonc"])
def test_json_may_have_comments_and_commas_at_the_end(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(
        '// orders\n{"spring": {"kafka": {"streams": {"properties": {"num.standby.replicas": 1, /* so */\n'
        '"max.warmup.replicas": 6,}, "bootstrap-servers": "http://a:1", // that\n}}}}\n',
        encoding="utf-8",
    )
    assert load_streams_config(path).overrides == BOTH


def test_a_table_of_which_no_value_is_known_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| Setting | Default | Prod |\n|---|---|---|\n| max.warmup.replicas | 2 | 6 |\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="from a table of several columns") as error:
        load_streams_config(path)
    assert error.value.where.endswith("line 3")
    assert error.value.fix == "keep those of the names and the values"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "- name: num.standby.replicas\n  value: '1'\n- name: max.warmup.replicas\n  value: 6\n"),
        ("a.json", '[{"key": "num.standby.replicas", "value": "1"}, {"key": "max.warmup.replicas", "value": 6}]'),
    ],
)
def test_a_list_of_names_and_values_is_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert load_streams_config(tmp_path / name).overrides == BOTH


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "config-server.json",
            '{"name": "orders", "propertySources": [{"name": "orders-prod.yml", "source":'
            ' {"spring.kafka.streams.properties.num.standby.replicas": 1}}, {"name": "orders.yml", "source":'
            ' {"spring.kafka.streams.properties.num.standby.replicas": 0,'
            ' "spring.kafka.streams.properties.max.warmup.replicas": 6}}]}',
        ),
        (
            "described.txt",
            "Name:         orders\nNamespace:    prod\n\nData\n====\nmax.warmup.replicas:\n----\n6\n\n"
            "num.standby.replicas:\n----\n1\n\n\nBinaryData\n====\n\nEvents:  <none>\n",
        ),
        (
            "quarkus.env",
            "_PROD_KAFKA_STREAMS_NUM_STANDBY_REPLICAS=1\nKAFKA_STREAMS_NUM_STANDBY_REPLICAS=0\n"
            "KAFKA_STREAMS_MAX_WARMUP_REPLICAS=6\n",
        ),
    ],
)
def test_what_servers_and_tools_print_of_settings_is_read(name: str, text: str, tmp_path: Path) -> None:
    assert load_streams_config(_file(tmp_path, name, text)).overrides == BOTH


def test_what_kafka_configs_prints_of_a_streams_group_is_read(tmp_path: Path) -> None:
    text = (
        "Dynamic configs for group orders are:\n"
        "  streams.num.standby.replicas=1 sensitive=false synonyms={DYNAMIC_GROUP_CONFIG:streams.num.standby.replicas=1"
        ", DEFAULT_CONFIG:group.streams.num.standby.replicas=0}\n"
        "  streams.session.timeout.ms=50000 sensitive=false synonyms={}\n"
    )
    file = load_streams_config(_file(tmp_path, "a.txt", text))
    assert file.group == {"num_standby_replicas": 1, "session_timeout_ms": 50_000}


def test_the_file_in_a_variable_of_strimzis_worker_is_read(tmp_path: Path) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: connect-0}\nspec:\n  containers:\n  - name: connect\n    env:\n"
        "    - name: KAFKA_CONNECT_CONFIGURATION\n      value: |\n        offset.storage.topic=o\n"
        "        scheduled.rebalance.max.delay.ms=60000\n"
    )
    settings = load_connect_config(_file(tmp_path, "a.yaml", text)).settings
    assert settings == {"scheduled_rebalance_max_delay_ms": 60_000}


def test_the_fix_of_a_setting_under_an_unknown_prefix_is_one_where_others_are_the_workers(tmp_path: Path) -> None:
    path = _file(tmp_path, "a.env", "KAFKA_CFG_SCHEDULED_REBALANCE_MAX_DELAY_MS=60000\nCONNECT_GROUP_ID=g\n")
    with pytest.raises(ConfigError, match="line 1: KAFKA_CFG_SCHEDULED_REBALANCE_MAX_DELAY_MS does not count") as error:
        load_connect_config(path)
    assert error.value.fix.startswith("write scheduled.rebalance.max.delay.ms")
