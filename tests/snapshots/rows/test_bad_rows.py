"""What is wrong with a row is one clear error. No Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured
from tests.helpers.schemas import validator
from tests.helpers.snapshot_rows import P0, changed, lag, read, row

BAD = {
    "missing application": (changed("application_id", None), "application_id", "is null where text must be"),
    "application is a number": (changed("application_id", 5), "application_id", "is 5, a whole number where text"),
    "application is empty": (changed("application_id", ""), "application_id", "is empty"),
    "major version": (changed("format_version", "2.0"), "format_version", "is '2.0'; this program reads 1.x"),
    "no version": (changed("format_version", "one"), "format_version", "is 'one', not a version"),
    "very long version": (changed("format_version", "9" * 5000), "format_version", "; this program reads 1.x"),
    "version is a number": (changed("format_version", 1.0), "format_version", "is 1.0, a number with a fraction"),
    "streams protocol without a release": (changed("group_protocol", "streams"), "broker_version", "is missing"),
    "connect protocol": (changed("group_protocol", "connect"), "tasks", "a Connect group has none"),
    "consumer protocol": (changed("group_protocol", "consumer"), "group_protocol", "does not use"),
    "generation is a fraction": (
        changed("generation", 1.0),
        "generation",
        "is 1.0, a number with a fraction or an exp",
    ),
    "generation is true": (changed("generation", True), "generation", "is true, true or false where a whole number"),
    "negative generation": (changed("generation", -1), "generation", "is negative"),
    "65 bits": (changed("tasks.0.end_offset_sum", 2**63), "tasks[0].end_offset_sum", "does not fit into 64 bits"),
    "exponent": (
        json.loads('{"x": 1e5}') | changed("tasks.0.end_offset_sum", 1e5),
        "tasks[0].end_offset_sum",
        "100000.0",
    ),
    "text for a number": (changed("tasks.0.end_offset_sum", "7"), "tasks[0].end_offset_sum", "is '7', text where"),
    "negative end": (changed("tasks.0.end_offset_sum", -1), "tasks[0].end_offset_sum", "is -1, which is negative"),
    "date only": (changed("captured_at", "2026-11-21"), "captured_at", "is '2026-11-21', not a time"),
    "no such day": (changed("captured_at", "2026-02-30T00:00:00Z"), "captured_at", "not a time"),
    "time in year 0": (changed("captured_at", "0001-01-01T00:00:00+01:00"), "captured_at", "not a time"),
    "time is a number": (changed("captured_at", 17), "captured_at", "is 17, a whole number where text must be"),
    "config is a list": (changed("config", []), "config", "is [], a list where an object of settings must be"),
    "config below": (changed("config.max_warmup_replicas", 0), "config.max_warmup_replicas", "is 0, outside 1 to"),
    "config above": (changed("config.num_standby_replicas", 2**31), "config.num_standby_replicas", "outside 0 to"),
    "config fraction": (changed("config.max_warmup_replicas", 2.0), "config.max_warmup_replicas", "is 2.0"),
    "config strategy": (changed("config.rack_aware_assignment_strategy", "x"), "config", "strategy is 'x'"),
    "config tags": (
        changed("config.rack_aware_assignment_tags", "a"),
        "config.rack_aware_assignment_tags",
        "is 'a', text",
    ),
    "config tag": (changed("config.rack_aware_assignment_tags", [1]), "config.rack_aware_assignment_tags[0]", "is 1"),
    "tasks is an object": (changed("tasks", {}), "tasks", "is {}, an object where a list must be"),
    "task is text": (changed("tasks.0", "0_0"), "tasks[0]", "is '0_0', text where an object must be"),
    "task without id": (changed("tasks.0", {"stateful": True}), "tasks[0].task_id", "is missing"),
    "not a task id": (changed("tasks.0.task_id", "0-0"), "tasks[0].task_id", "is '0-0', not a task id"),
    "task twice": (changed("tasks.1.task_id", "0_0"), "tasks[1].task_id", "is there already"),
    "stateful is text": (changed("tasks.0.stateful", "yes"), "tasks[0].stateful", "is 'yes', text where true or false"),
    "partition": (
        changed("tasks.0.source_partitions.0.partition", None),
        "tasks[0].source_partitions[0].partition",
        "is null where a whole number must be",
    ),
    "topic": (
        changed("tasks.0.changelog_partitions.0.topic", 1),
        "tasks[0].changelog_partitions[0].topic",
        "is 1, a whole number where text must be",
    ),
    "end offset": (
        changed("tasks.0.changelog_partitions.0.end_offset", 1.5),
        "tasks[0].changelog_partitions[0].end_offset",
        "is 1.5",
    ),
    "racks": (
        changed("tasks.0.source_partitions.0.racks", ["a", 5]),
        "tasks[0].source_partitions[0].racks[1]",
        "is 5",
    ),
    "no instance": (changed("instances", []), "instances", "holds no instance"),
    "no consumer": (changed("instances.1.consumers", []), "instances[1].consumers", "holds no consumer"),
    "no process id": (changed("instances.0.process_id", None), "instances[0].process_id", "is null where text"),
    "instance twice": (changed("instances.1.process_id", P0), "instances[1].process_id", "is there already"),
    "two leaders": (changed("instances.1.leader", True), "instances[1].leader", "is the leader already"),
    "consumer twice": (
        changed("instances.1.consumers.1.consumer_id", "orders-0-1"),
        "instances[1].consumers[1].consumer_id",
        "is 'orders-0-1', which is at instances[0].consumers[0] already",
    ),
    "tags": (changed("instances.0.client_tags", {"zone": None}), "instances[0].client_tags.zone", "is null where text"),
    "tags are a list": (
        changed("instances.0.client_tags", ["a"]),
        "instances[0].client_tags",
        "a list where an object",
    ),
    "no protocol": (
        changed("instances.0.consumers.0.protocols", []),
        "instances[0].consumers[0].protocols",
        "is empty",
    ),
    "null owner": (
        changed("instances.0.consumers.0.active", ["1_0", None]),
        "instances[0].consumers[0].active[1]",
        "is null where text must be",
    ),
    "number owner": (
        changed("instances.0.consumers.0.active", [5]),
        "instances[0].consumers[0].active[0]",
        "is 5, a whole number where text must be",
    ),
    "unknown task": (
        changed("instances.0.consumers.0.active", ["1_0", "9_9"]),
        "instances[0].consumers[0].active[1]",
        "is '9_9', which is not in tasks",
    ),
    "two owners": (
        changed("instances.0.consumers.0", {"consumer_id": "c", "active": ["0_0"]}),
        "instances[1].consumers[0].active[0]",
        "is '0_0', which is active already, at instances[0].consumers[0].active[0]",
    ),
    "copy beside its active": (
        changed("instances.1.consumers.1.standby", ["0_0"]),
        "instances[1].consumers[1].standby[0]",
        "is on the same instance already, at instances[1].consumers[0].active[0]",
    ),
    "standby and warm-up": (
        changed("instances.0.consumers.0.warmup", ["0_0"]),
        "instances[0].consumers[0].warmup[0]",
        "is on the same instance already",
    ),
    "active is an object": (
        changed("instances.0.consumers.0.active", {}),
        "instances[0].consumers[0].active",
        "is {}, an object where a list must be",
    ),
    "copy of a stateless task": (
        changed("instances.1.consumers.1.standby", ["1_0"]),
        "consumer 'orders-1-2'",
        "holds a copy of 1_0, which is stateless",
    ),
    "lag of nobody": (row(lags=[lag("p", lag=1)]), "lags[0].process_id", "is 'p', which is not in instances"),
    "lag of no task": (row(lags=[lag(P0, "9_9", lag=1)]), "lags[0].task_id", "is '9_9', which is not in tasks"),
    "lag not a task": (row(lags=[lag(P0, "x", lag=1)]), "lags[0].task_id", "is 'x', not a task id"),
    "reporter of elsewhere": (
        row(lags=[lag(lag=1, consumer_ids=["orders-1-1"])]),
        "lags[0].consumer_ids[0]",
        "is 'orders-1-1', no consumer of '1d296588-",
    ),
    "null reporter": (row(lags=[lag(lag=1, consumer_ids=[None])]), "lags[0].consumer_ids[0]", "is null"),
    "lag and offset": (row(lags=[lag(lag=1, offset=2)]), "lags[0].offset", "is 2 beside a lag of 1"),
    "neither": (row(lags=[lag(store="a")]), "lags[0].lag", "is missing, and so is offset"),
    "negative lag": (row(lags=[lag(lag=-1)]), "lags[0].lag", "is -1, which is negative and none of Kafka's markers"),
    "negative offset": (row(lags=[lag(offset=-4)]), "lags[0].offset", "is -4, which is negative"),
    "negative row end": (row(lags=[lag(offset=1, end_offset=-2)]), "lags[0].end_offset", "is -2, which is negative"),
    "lag is a fraction": (row(lags=[lag(lag=1.0)]), "lags[0].lag", "is 1.0, a number with a fraction"),
    "store twice": (
        row(lags=[lag(store="a", lag=1), lag(store="a", lag=2)]),
        "lags[1]",
        "is about the same store of the same task as lags[0]",
    ),
    "mixed stores": (
        row(lags=[lag(store="a", lag=1), lag(store="b", offset=2)]),
        "lags",
        "mix lag with an offset that has no end_offset",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_one_error_that_names_file_application_field_and_fix(name: str) -> None:
    item, field, what = BAD[name]
    with pytest.raises(SnapshotError) as caught:
        read(item)
    error = caught.value
    application = item["application_id"]
    assert error.where == ("file.json" if application is None else f"file.json: application {application!r}")
    assert error.application_id == (application if isinstance(application, str) else None)
    assert error.what.startswith(f"{field} ")
    assert what in error.what
    assert error.fix
    assert "\n" not in str(error)


def test_the_fix_fits_the_field() -> None:
    with pytest.raises(SnapshotError, match=r"Fix: write it as RFC 3339, like 2026-11-21T12:00:00.000Z"):
        read(changed("captured_at", 1_700_000_000_000))
    with pytest.raises(SnapshotError, match=r"application_id is empty. Fix: give at least one character$"):
        read(changed("application_id", ""))


@pytest.mark.parametrize("name", ["\x1b[31mred\x1b[0m", "[red]x[/red]", "\ud800", "<b>", "a\nb", "\u202eevil"])
def test_names_are_data_and_errors_show_them_escaped(name: str) -> None:
    item = row(application_id=name)
    item["instances"][0]["host"] = name
    item["instances"][0]["consumers"][0]["consumer_id"] = name
    item["lags"][0]["consumer_ids"] = [name]
    assert read(item).state.group.instances[1].host == name
    item["lags"][0]["consumer_ids"] = [name + "x"]
    with pytest.raises(SnapshotError) as caught:
        snapshot_from_row(item, name)
    assert str(caught.value).isprintable()


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_whatever_is_wrong_is_a_snapshot_error(data: st.DataObject) -> None:
    junk = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.lists(st.integers(), max_size=2),
        st.dictionaries(st.sampled_from(["task_id", "x"]), st.text(max_size=2), max_size=2),
    )

    def spoiled(value: Any, depth: int) -> Any:
        if isinstance(value, dict) and value and depth:
            name = data.draw(st.sampled_from(sorted(value)))
            return {**value, name: spoiled(value[name], depth - 1)}
        if isinstance(value, list) and value and depth:
            at = data.draw(st.integers(0, len(value) - 1))
            return [*value[:at], spoiled(value[at], depth - 1), *value[at + 1 :]]
        return data.draw(junk)

    item = spoiled(row(), data.draw(st.integers(1, 6)))
    try:
        read(item)
    except SnapshotError as error:
        said = str(error)
    else:
        said = ""
    assert said.isprintable()


# --- the JSON Schemas --------------------------------------------------------------------------------------------


def valid(kind: str, value: Any) -> bool:
    return bool(validator(kind).is_valid(value))


def test_the_schemas_accept_what_the_reader_accepts() -> None:
    assert valid("snapshot", row())
    for scenario in captured.SCENARIOS:
        assert all(valid("snapshot", item) for item in captured.rows(scenario, "inputs"))
    assert valid("lags", {"application_id": "a", **lag(lag=5, restoring=True, consumer_ids=["c"])})


#: What only the reader can tell: how values of a row belong together.
ACROSS_FIELDS = {
    "consumer twice",
    "copy beside its active",
    "copy of a stateless task",
    "time in year 0",
    "generation is a fraction",  # JSON Schema counts 1.0 among the integers
    "config fraction",
    "exponent",
    "lag is a fraction",
    "lag of nobody",
    "lag of no task",
    "instance twice",
    "mixed stores",
    "no such day",
    "reporter of elsewhere",
    "standby and warm-up",
    "store twice",
    "task twice",
    "two leaders",
    "two owners",
    "unknown task",
}


@pytest.mark.parametrize("name", sorted(set(BAD) - ACROSS_FIELDS))
def test_the_schema_rejects_what_the_reader_rejects(name: str) -> None:
    assert not valid("snapshot", BAD[name][0])
