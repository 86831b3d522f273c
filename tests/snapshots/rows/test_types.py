"""What the types of rows say is what the readers take: a schema never refuses what is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.rows.schema import LAG_KEYS, SNAPSHOT, TIMES
from tests.helpers import connect_rows, snapshot_rows, streams_rows
from tests.helpers.schemas import validator
from tests.helpers.snapshot_rows import read

MEMBER = {
    "consumer_id": "c1",
    "client_id": "client",
    "group_instance_id": "static",
    "position": 0,
    "member_epoch": 12,
    "member_state": "STABLE",
    "active": ["0_0"],
    "standby": [],
    "warmup": [],
    "target": {"active": ["0_0"], "standby": [], "warmup": []},
    "revoking": {"active": []},
    "task_offsets": [{"task_id": "0_0", "offset": 5}],
}
MEMORY = {
    "previous": [{"connector": "c0", "items": [-1, 0]}],
    "revocation": [],
    "revoked_in_previous": False,
    "candidates": ["w1"],
    "scheduled_at": "2026-11-22T12:01:00Z",
    "delay_ms": 60_000,
    "generation": 11,
    "members": ["w0", "w1"],
    "successive": 0,
}
REST = {"answered": True, "config_offset": 7, "last_completed": 12, "host": "w", "rack": None}


def _connect() -> dict[str, Any]:
    row = connect_rows.even(config={"connect_protocol": "sessioned", "session_timeout_ms": 10_000})
    for instance in row["instances"]:
        instance.update(REST)
    row["instances"][0]["memory"] = MEMORY
    row["connectors"][0] |= {"type": "sink", "states": [{"item": -1, "state": "RUNNING"}, {"state": "FAILED"}]}
    return {**row, "exact": True, "newer_rebalance": {"place": "log, line 5", "at": "2026-11-22T12:00:01Z"}}


#: One of each kind of group, between them with all that a row may have.
ROWS: list[dict[str, Any]] = [
    snapshot_rows.row(stores="mixed", measuring_failed=True, streams_version="4.2.0"),
    json.loads((Path(__file__).parents[2] / "safe/05-metrics-open/nan.json").read_text(encoding="utf-8")),
    streams_rows.row(
        "4.4", {"p": [MEMBER]}, {"0": (1, True, 9)}, target_epoch=12, target_at="2026-11-22T11:59:00Z", seen_until=None
    ),
    _connect(),
]
#: What no reader looks at, or where any other text is as good as a task that the group does not have.
UNREAD = [{"newer_rebalance", "at"}, {"decision", "leader"}, {"decision", "trigger"}, {"connectors", "type"}, {"rack"}]
UNREAD += [{"decided", "active"}, {"decided", "standby"}, {"decided", "instance"}, {"client_id"}]
UNREAD += [{"decided", name} for name in ("withheld", "temporary", "process_id", "consumer_id")]
UNREAD += [{"copies_since", "task_id"}, {"produce", "task_id"}]
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [-4, -3, -1, 0, 1, 2**31, 2**63, 1.5, "x", "0_0", "2026-11-22", "2026-11-22T12:00:00Z", "4.4", "1.0"]
    ),
    st.lists(st.sampled_from([0, "0_0", "x", None, {}]), max_size=2),
    st.dictionaries(st.sampled_from(["task_id", "x"]), st.sampled_from([0, "x", None, [], {}]), max_size=2),
)


def test_the_rows_below_are_read_and_valid() -> None:
    for row in ROWS:
        read(row)
        validator("snapshot").validate(row)


@settings(max_examples=400)
@given(st.data())
def test_what_is_read_is_valid(data: st.DataObject) -> None:
    path: list[str] = []

    def spoiled(value: Any, depth: int) -> Any:
        if isinstance(value, dict) and value and depth:
            name = data.draw(st.sampled_from(sorted(value)))
            path.append(name)
            if data.draw(st.integers(0, 9)) == 0:
                return {key: item for key, item in value.items() if key != name}
            return {**value, name: spoiled(value[name], depth - 1)}
        if isinstance(value, list) and value and depth:
            at = data.draw(st.integers(0, len(value) - 1))
            return [*value[:at], spoiled(value[at], depth - 1), *value[at + 1 :]]
        return data.draw(JUNK)

    row = spoiled(data.draw(st.sampled_from(ROWS)), data.draw(st.integers(1, 8)))
    try:
        read(row)
    except SnapshotError:
        return
    is_unread = any(field <= set(path) for field in UNREAD)
    assert is_unread or validator("snapshot").is_valid(row), validator("snapshot").errors(row)


def test_columns_follow_from_the_types() -> None:
    columns: Any = SNAPSHOT
    assert columns["config"] == "settings"
    assert columns["instances"][0]["client_tags"] == "texts"
    assert columns["instances"][0]["held"] == [{"connector": "text", "items": ["integer"]}]
    assert columns["rates"]["produce"][0]["records_per_second"] == "number"
    assert columns["decision"]["decided"][0]["consumers"][0]["temporary"] == ["text"]
    assert {"captured_at", "since", "scheduled_at", "next_rebalance_at"} <= TIMES
    assert LAG_KEYS["captured_at"] == "time"
    assert "consumer_ids" not in LAG_KEYS
