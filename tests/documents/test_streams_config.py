"""Settings files mean to the planner what they mean to Kafka."""

from pathlib import Path

import pytest

from kstream_plan.documents.streams_config import load_streams_config, with_overrides
from kstream_plan.errors import ConfigError
from kstream_plan.model.settings import AssignmentConfig


def overrides(tmp_path: Path, text: str, name: str = "streams.properties") -> dict[str, object]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return dict(load_streams_config(path).overrides)


@pytest.mark.parametrize(
    "line",
    [
        "max.warmup.replicas=4",
        "  max.warmup.replicas = 4 ",
        "max.warmup.replicas:4",
        "max.warmup.replicas 4",
        "max.warmup.replicas\t:\t4",
        "max.warmup.\\\n   replicas=\\\n   4",
        "max\\.warmup.replicas=4",
        "max.warmup.replicas=\\u0034",
        "# max.warmup.replicas=9\n! max.warmup.replicas=9\n\nmax.warmup.replicas=4",
        "max.warmup.replicas=9\r\nmax.warmup.replicas=4\r\n",
    ],
)
def test_properties_are_read_as_java_reads_them(tmp_path: Path, line: str) -> None:
    assert overrides(tmp_path, line) == {"max_warmup_replicas": 4}


def test_a_comment_does_not_continue_and_a_continued_line_may_start_with_a_hash(tmp_path: Path) -> None:
    text = "# a comment \\\nnum.standby.replicas=1\nrack.aware.assignment.tags=zone,\\\n  #cluster"
    assert overrides(tmp_path, text) == {
        "num_standby_replicas": 1,
        "rack_aware_assignment_tags": ("zone", "#cluster"),
    }


def test_an_even_number_of_backslashes_does_not_continue_a_line(tmp_path: Path) -> None:
    text = "some.path=C:\\\\\nnum.standby.replicas=1"
    assert overrides(tmp_path, text) == {"num_standby_replicas": 1}


def test_every_setting_goes_by_kafkas_name(tmp_path: Path) -> None:
    text = """
acceptable.recovery.lag=9223372036854775807
max.warmup.replicas=1
num.standby.replicas=2
probing.rebalance.interval.ms=60000
rack.aware.assignment.tags=zone , cluster,
rack.aware.assignment.strategy=min_traffic
rack.aware.assignment.traffic_cost=7
rack.aware.assignment.non_overlap_cost=3
heartbeat.interval.ms=1000
session.timeout.ms=9000
state.cleanup.delay.ms=0
bootstrap.servers=broker:9092
"""
    assert with_overrides(AssignmentConfig(), overrides(tmp_path, text)) == AssignmentConfig(  # type: ignore[arg-type]
        acceptable_recovery_lag=2**63 - 1,
        max_warmup_replicas=1,
        num_standby_replicas=2,
        probing_rebalance_interval_ms=60_000,
        rack_aware_assignment_tags=("zone", "cluster"),
        rack_aware_assignment_strategy="min_traffic",
        rack_aware_assignment_traffic_cost=7,
        rack_aware_assignment_non_overlap_cost=3,
        heartbeat_interval_ms=1_000,
        session_timeout_ms=9_000,
        state_cleanup_delay_ms=0,
    )


@pytest.mark.parametrize("order", [1, -1])
def test_the_main_consumers_setting_beats_all_consumers_beats_no_prefix_in_any_order(
    tmp_path: Path, order: int
) -> None:
    lines = [
        "session.timeout.ms=1",
        "consumer.session.timeout.ms=2",
        "main.consumer.session.timeout.ms=3",
        "restore.consumer.session.timeout.ms=4",
        "heartbeat.interval.ms=1",
        "consumer.heartbeat.interval.ms=2",
    ]
    assert overrides(tmp_path, "\n".join(lines[::order])) == {"session_timeout_ms": 3, "heartbeat_interval_ms": 2}


@pytest.mark.parametrize("name", ["streams.yaml", "streams.yml", "streams.conf"])
def test_yaml_takes_dots_underscores_and_nesting(tmp_path: Path, name: str) -> None:
    text = """
max_warmup_replicas: 4          # a comment
num.standby.replicas: "1"
rack.aware.assignment.tags: [zone, cluster]
rack:
  aware.assignment:
    traffic_cost: 5
main.consumer: {session.timeout.ms: 9000}
consumer:
  session: {timeout.ms: 1}
bootstrap.servers: [a, b]
"""
    assert overrides(tmp_path, text, name) == {
        "max_warmup_replicas": 4,
        "num_standby_replicas": 1,
        "rack_aware_assignment_tags": ("zone", "cluster"),
        "rack_aware_assignment_traffic_cost": 5,
        "session_timeout_ms": 9000,
    }


def test_yaml_merge_keys_work(tmp_path: Path) -> None:
    text = "base: &base {num_standby_replicas: 1}\nrack: {aware: {assignment: {<<: {traffic_cost: 5}}}}"
    assert overrides(tmp_path, text, "a.yaml") == {"rack_aware_assignment_traffic_cost": 5}


@pytest.mark.parametrize("text", ["", "# nothing\n"])
@pytest.mark.parametrize("name", ["a.yaml", "b.properties", "c"])
def test_a_file_without_a_setting_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: holds no setting. Fix: check --streams-config"):
        overrides(tmp_path, text, name)


def test_a_file_in_which_no_setting_is_known_is_an_error(tmp_path: Path) -> None:
    log4j = "rootLogger.level=INFO\nappender.console.type=Console\n"
    with pytest.raises(ConfigError, match=r"holds no setting .* that is known, 'rootLogger.level' first"):
        overrides(tmp_path, log4j, "log4j2.properties")
    with pytest.raises(ConfigError, match=r"first. Fix: line 2: max.warmup.replica is ignored; is it max.warmup.repl"):
        overrides(tmp_path, "level=1\nmax.warmup.replica=1\n", "a.properties")


def test_an_applications_file_may_leave_all_to_kafka(tmp_path: Path) -> None:
    assert overrides(tmp_path, "bootstrap.servers=broker:9092\n", "a.properties") == {}
    assert overrides(tmp_path, "application: {id: orders}\n", "a.yaml") == {}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "s.properties",
            "\nmax.warmup.replicas=two",
            r"s.properties, line 2: max.warmup.replicas is 'two', not a whole",
        ),
        ("s.properties", "max.warmup.replicas=0", r"line 1: max.warmup.replicas is 0, outside 1 to 2147483647"),
        ("s.properties", "max.warmup.replicas=", r"line 1: max.warmup.replicas is '', not a whole number"),
        ("s.properties", "num.standby.replicas=99999999999", r"outside 0 to 2147483647"),
        ("s.properties", "a=1\nb=\\u12", r"line 2: the escape \\u12 has no four hexadecimal digits"),
        ("s.properties", "rack.aware.assignment.strategy=best", r"line 1: .* is 'best'.*none, min_traffic"),
        ("s.yaml", "a: 1\nmax_warmup_replicas: 1.5", r"s.yaml, line 2: max_warmup_replicas is '1.5', not a whole"),
        ("s.yaml", "max_warmup_replicas: [1]", r"line 1: max_warmup_replicas is \['1'\], not a whole number"),
        ("s.yaml", "max_warmup_replicas:", r"line 1: max_warmup_replicas is None, not a whole number"),
        ("s.yaml", "rack_aware_assignment_tags: [{a: b}]", r"line 1: .* holds something else than names"),
        ("s.yaml", "a: [", r"s.yaml, line \d: not YAML"),
        ("s.yaml", "- a\n- b", r"line 1: the file is YAML but not a mapping"),
        ("s.yaml", "a: &a {b: *a}", r"line 1: nested deeper"),
        ("s.yaml", "a: \x01", r"not YAML"),
        ("s.yaml", "a: " + "[" * 20_000, r"s.yaml, line 1: not YAML: nested deeper than 40 levels"),
        ("s.yaml", "- " * 20_000, r"s.yaml, line 1: not YAML: nested deeper than 40 levels"),
        ("s.properties", "max.warmup.replicas=" + "a" * 100_000, r"aaa \[…\] aaa"),
    ],
)
def test_errors_name_file_line_and_fix(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        overrides(tmp_path, text, name)
    assert caught.value.fix


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone.yaml: cannot read the file: No such file"):
        load_streams_config(tmp_path / "gone.yaml")


def test_a_name_that_is_almost_right_is_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "s.properties"
    path.write_text(
        "application.id=orders\ntransaction.timeout.ms=1\nmax.warmup.replica=1\nglobal.consumer.session.timeout.ms=1\n"
    )
    read = load_streams_config(path)
    assert read.overrides == {}
    assert read.warnings == (f"{path}, line 3: max.warmup.replica is ignored; is it max.warmup.replicas?",)


def test_a_file_in_latin_1_is_read_as_java_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "s.properties"
    path.write_bytes("rack.aware.assignment.tags=z\u00f6ne".encode("latin-1"))
    assert load_streams_config(path).overrides == {"rack_aware_assignment_tags": ("z\u00f6ne",)}


def test_an_unknown_override_names_the_nearest_setting() -> None:
    with pytest.raises(ConfigError, match=r"'max_warmup_replica' is no setting. Fix: is it max_warmup_replicas\?"):
        with_overrides(AssignmentConfig(), {"max_warmup_replica": 3})


@pytest.mark.parametrize(("value", "threads"), [("8", 8), (" 8 ", 8), ("${THREADS}", None)])
def test_the_number_of_threads_is_told_but_no_setting_of_an_assignor(
    tmp_path: Path, value: str, threads: int | None
) -> None:
    path = tmp_path / "s.properties"
    path.write_text(f"application.id=orders\nnum.stream.threads={value}\n")
    read = load_streams_config(path)
    assert (read.overrides, read.threads) == ({}, threads)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spring.kafka.streams.properties.num.standby.replica", "1"),
        ("KSQL_KSQL_STREAMS_NUM_STANDBY_REPLICA", "1"),
        ("kafka-streams.num.standbys.replicas", "1"),
    ],
)
def test_a_misspelt_setting_is_told_under_the_prefix_of_a_framework(tmp_path: Path, name: str, value: str) -> None:
    path = tmp_path / "app.properties"
    path.write_text(f"application.id=orders\n{name}={value}\n")
    assert load_streams_config(path).warnings == (f"{path}, line 2: {name} is ignored; is it num.standby.replicas?",)
