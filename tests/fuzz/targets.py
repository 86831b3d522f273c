"""What is fuzzed: every reader, every command and its options; what each is given, and what is done with it."""

from __future__ import annotations

import atexit
import gzip
import io
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kstream_plan.documents import quantities
from kstream_plan.documents.client_properties import load_client_properties
from kstream_plan.documents.connect_config import load_connect_config
from kstream_plan.documents.history import entries_of, read_stretches
from kstream_plan.documents.instance_names import load_instance_names
from kstream_plan.documents.plan.read import read_saved
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.documents.policy_file import read_policy
from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.model import Snapshot
from kstream_plan.planner.options import PlanOptions
from kstream_plan.render.answers import to_table as table
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.snapshots.broker.byte_reader import PayloadError
from kstream_plan.snapshots.broker.topology_text import read_topology
from kstream_plan.snapshots.connect_log.history import checked_row, read_connect_logs
from kstream_plan.snapshots.connect_rest.status import row_of_status
from kstream_plan.snapshots.files.newest_rows import RowText, Selection, keyed_row, newest_rows, rows_of
from kstream_plan.snapshots.leader_log.history import checked_rows, read_leader_logs
from kstream_plan.snapshots.metrics.measurements import Measurements, read_measurements
from kstream_plan.snapshots.metrics.offsets import read_offsets
from kstream_plan.snapshots.metrics.overlay import with_measured_lags
from kstream_plan.snapshots.metrics.store_lags import read_store_lags
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.json_text import parse_row
from kstream_plan.snapshots.rows.lag_history import HistoryRow, LagHistory
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.fuzz import command_lines, group_rows, mutations
from tests.fuzz.oracle import NAME, Input, named
from tests.helpers import captured, check_cases, log_layouts, metric_texts, plan_cases, simulation_cases, wire_payloads
from tests.helpers.snapshot_rows import row

_EXAMPLES = Path(__file__).parents[2] / "examples"
#: A plan that goes on for longer tells nothing more of a reader.
_FEW_ROUNDS = PlanOptions(max_rounds=6)


class Target(NamedTuple):
    """What is fuzzed: what it is given by chance, and what is done with it."""

    given: Callable[[random.Random], Input]
    run: Callable[[Input], object]


def _of_documents(seeds: Callable[[], list[Any]]) -> Callable[[random.Random], Input]:
    return lambda chance: Input(mutations.document(seeds(), chance))


def _of_texts(seeds: Callable[[], list[bytes]]) -> Callable[[random.Random], Input]:
    return lambda chance: Input(mutations.packed(mutations.text(chance.choice(seeds()), chance), chance))


# --- snapshots --------------------------------------------------------------------------------------------------


@cache
def _rows() -> list[Any]:
    standbys = json.loads((_EXAMPLES / "scale-out" / "snapshot.json").read_text(encoding="utf-8"))
    return [row(), row(), row(), {**row(), "rates": _rates(), "decision": None}, *_log_rows()[:2], standbys]


def _rates() -> dict[str, Any]:
    process_id = row()["instances"][0]["process_id"]
    return {
        "restore": [{"process_id": process_id, "records_per_second": 50.0, "intervals": 3, "at_least": False}],
        "produce": [{"task_id": "0_0", "records_per_second": 1.5, "intervals": 2}],
    }


@cache
def _log_rows() -> list[Any]:
    log = captured.REAL / "scale-out-standbys" / "leader.log.gz"
    return [dict(row) for row in checked_rows(read_leader_logs([str(log)]).entries[-2:])]


def _snapshot(given: Input) -> None:
    snapshot = snapshot_from_row(parse_row(given.content, NAME), NAME)
    _planned(snapshot, given)


def _planned(snapshot: Snapshot, given: Input) -> None:
    """Plan some of what is taken for a snapshot: what cannot be planned should have been refused."""
    if len(given.content) % 8 == 0 and len(snapshot.state.group.tasks) < 100:
        table(plan(snapshot, _FEW_ROUNDS), width=100)


def _newest(given: Input) -> None:
    rows = map(keyed_row, rows_of(RowText(NAME, given.content)))
    for newest in newest_rows(rows, Selection(("o*",), 1_800_000_000_000_000)):
        snapshot_from_row(parse_row(newest.text, NAME), NAME)


@cache
def _lag_rows() -> list[Any]:
    fields = {"application_id": "orders", "captured_at": "2026-11-21T12:00:00Z"}
    ids = [instance["process_id"] for instance in row()["instances"]]
    stored = {"task_id": "0_0", "store": "s", "offset": 5, "end_offset": 9, "restoring": True, "consumer_ids": []}
    return [
        [{**fields, "process_id": ids[0], "task_id": "0_0", "lag": 7}, {**fields, "process_id": ids[1], **stored}],
        [{**fields, "process_id": ids[1], **stored}, {**fields, "process_id": ids[1], **stored, "store": "t"}],
    ]


def _lags(given: Input) -> None:
    rows = json.loads(given.content)
    if isinstance(rows, list) and all(isinstance(one, dict) for one in rows):
        history = LagHistory([HistoryRow(one, NAME, False) for one in rows])
        snapshot_from_row(row(), NAME, lags=history)


# --- what is saved ----------------------------------------------------------------------------------------------


@cache
def _plans() -> list[Any]:
    names = ("settled", "settled-standbys", "no-tasks", "never-ready")
    return [json.loads(plan_json(plan_cases.case(name))) for name in names]


@cache
def _simulations() -> list[Any]:
    names = ("nobody", "no-tasks", "no-state", "remove-one")
    return [json.loads(simulation_json(simulation_cases.case(name))) for name in names]


def _saved(given: Input) -> None:
    for saved in read_saved(given.content, NAME):
        table(saved.plan, width=100)
        assert read_saved(plan_json(saved.plan).encode(), NAME)[0].plan == saved.plan


@cache
def _history() -> list[bytes]:
    logs = [captured.REAL / scenario / "leader.log.gz" for scenario in captured.SCENARIOS]
    kept = []
    for log in logs:
        rows = checked_rows(read_leader_logs([str(log)], config={"acceptable_recovery_lag": 100}).entries)
        kept.append([json.dumps(one).encode() for one in rows[:3]])
    return [b"\n".join(lines) + b"\n" for lines in kept]


def _history_given(chance: random.Random) -> Input:
    seed = chance.choice(_history())
    if chance.random() < 0.5:
        return Input(mutations.packed(mutations.text(seed, chance), chance))
    lines = [mutations.json_bytes(mutations.changed(json.loads(line), chance), chance) for line in seed.splitlines()]
    return Input(mutations.packed(b"\n".join(lines), chance))


def _read_history(given: Input) -> None:
    entries_of("-", stdin=io.BytesIO(given.content))
    read_stretches("-", None, None, stdin=io.BytesIO(given.content))


# --- settings, policies, scenarios ------------------------------------------------------------------------------

_NASTY_YAML = [
    b"a: &a [x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nd: [*c, *c, *c]\n",
    b"!!python/object/apply:os.system [ls]\n",
    b"? [complex]\n: value\n",
    b"---\na: 1\n---\nb: 2\n",
    b"events: !!set {a, b}\n",
    b"a: &a\n  b: *a\n",
    b"1: 2\nnull: x\ntrue: y\n1.5: z\n2026-11-21: d\n",
    b"a: 0o17\nb: 0x1f\nc: 1_000\nd: .inf\ne: 12:30:45\nf: =\n",
    b"<<: {version: 1}\nversion: 1\n",
    b"a: !!binary aGVsbG8=\nb: !!float 'x'\n",
]


@cache
def _policies() -> list[bytes]:
    return [check_cases.SAMPLE, check_cases.STRICT, (_EXAMPLES / "ci" / "policy.yaml").read_bytes(), *_NASTY_YAML]


_SCENARIO = b"""seed: 3
events:
  - at: 0s
    join: 2
    threads: 2
    rack: a
  - at: 10m
    stop: [i1]
  - at: 11m
    crash: i2
  - {at: 12m, return: i1, state: kept}
  - {at: 20m, leave: [i3]}
  - {at: 25m, config: {max.warmup.replicas: 4}}
  - {at: 30m, restore_rate: 500/s}
  - {at: 40m, bounce: [i1], pause: 30s}
  - {at: 50m, create: {audit: 3, orders: 0}}
  - {at: 51m, rescale: {orders: 8}}
  - {at: 52m, delete: [audit]}
"""


@cache
def _scenarios() -> list[bytes]:
    return [_SCENARIO, _SCENARIO, (_EXAMPLES / "scale-out" / "scenario.yaml").read_bytes(), *_NASTY_YAML[:6]]


def _scenario(given: Input) -> None:
    scenario = read_scenario(given.content, NAME)
    with_random_ids(scenario, plan_cases.snapshot("settled").state.group, 0)


_SETTINGS = [
    (_EXAMPLES / "app.properties").read_bytes(),
    b"max.warmup.replicas=3\nacceptable.recovery.lag = 100\n!x\n#y\nnum.standby.replicas:1\\\n  2\n"
    b"rack.aware.assignment.tags=zone,\\u0061b\nprobing.rebalance.interval.ms 60000\nstreams.max.warmup.replicas=4\n",
    b"kafka:\n  streams:\n    max.warmup.replicas: 3\nspring:\n  kafka:\n    streams:\n      properties:\n"
    b"        acceptable.recovery.lag: 10\n",
    b"max_warmup_replicas: 2\nrack_aware_assignment_tags: [zone, cluster]\nacceptable.recovery.lag: 1e3\n",
    *_NASTY_YAML,
]
_CONNECT_SETTINGS = [
    (_EXAMPLES / "connect" / "connect-distributed.properties").read_bytes(),
    b"connect.protocol: compatible\nheartbeat.interval.ms=3000\nrebalance.timeout.ms\\\n =1\ngroup.id=x\n",
]
_CLIENT = [
    b"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain."
    b'PlainLoginModule required username="u" password="secret";\nssl.truststore.type=PEM\nrequest.timeout.ms=5000\n',
    b"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=org.apache.kafka.common."
    b'security.scram.ScramLoginModule required username="u" password="secret";\nclient.id=x\n',
    b"security.protocol=SSL\nssl.truststore.location=nowhere.pem\nssl.endpoint.identification.algorithm=\n",
    b"bootstrap.servers=a:1\nsecurity.protocol=PLAINTEXT\nssl.key.password=secret\n",
]
_NAMES = [
    b"orders-0: {host: a, rack: r1}\norders-1: b\n1d296588-571c-4eee-96be-fa395e3c536c: {rack: r2}\n",
    b'{"orders-0": {"host": "a"}, "x": "y"}',
    *_NASTY_YAML,
]


def _from_file(load: Callable[[Path], object]) -> Callable[[Input], object]:
    """Return what loads the content out of a file, whose name tells nothing."""

    def run_one(given: Input) -> object:
        path = _folder() / NAME
        path.write_bytes(given.content)
        return load(path)

    return run_one


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _client(path: Path) -> None:
    load_client_properties(path)


_TOPOLOGIES = [(captured.REAL / scenario / "topology.txt").read_bytes() for scenario in captured.SCENARIOS]

# --- logs, metrics, the broker's own bytes ----------------------------------------------------------------------


@cache
def _logs() -> list[bytes]:
    """Beginnings of logs in every layout that is read, with a whole message or a few."""
    found = []
    for scenario in captured.SCENARIOS[:2]:
        records = log_layouts.records(scenario)
        at = next(place for place, record in enumerate(records) if "assigned" in str(record))
        few = records[max(0, at - 6) : at + 8]
        found += [log_layouts.laid_out(few, layout) for layout in log_layouts.LAYOUTS]
    return [log for log in found if len(log) < 200_000]


def _log(given: Input) -> None:
    checked_rows(read_leader_logs(["-"], stdin=io.BytesIO(given.content)).entries)


@cache
def _connect_logs() -> list[bytes]:
    """Workers' logs, on DEBUG and on INFO."""
    logs = [gzip.decompress(path.read_bytes()) for path in sorted((captured.REAL / "connect").glob("*.log*.gz"))]
    whole = [b"".join(log.splitlines(keepends=True)[:60]) for log in logs]
    return [*whole, *(path.read_bytes() for path in sorted((_EXAMPLES / "connect").glob("*.log")))]


def _connect_log(given: Input) -> None:
    for entry in read_connect_logs(["-"], now_ms=1_795_262_400_000, stdin=io.BytesIO(given.content)):
        if entry.problem is None:
            checked_row(entry)


@cache
def _connect_answers() -> list[Any]:
    return [json.loads(gzip.decompress((captured.REAL / "connect" / "rest1.json.gz").read_bytes()))]


def _connect_status(given: Input) -> None:
    found = row_of_status(given.content, NAME, group_id="x", captured_at=None, config={})
    _planned(snapshot_from_row(found.row, NAME), given)


@cache
def _metrics() -> list[bytes]:
    lags = {("A", 0): 3.0, ("A", 1): 0.0}
    texts = [metric_texts.text(metric_texts.lags(lags)), metric_texts.text(metric_texts.leads(lags))]
    captures = sorted((captured.REAL / "metrics" / "captures").glob("*.prom.gz"))
    return [
        *(text.encode() for text in texts),
        *(_about_stores(gzip.decompress(capture.read_bytes())) for capture in captures),
    ]


def _about_stores(scrape: bytes) -> bytes:
    """The lines of a scrape that say how far copies are, and a few of the others."""
    lines = scrape.splitlines(keepends=True)
    return b"".join(
        line for place, line in enumerate(lines) if place < 12 or b"restore-consumer" in line or place % 90 == 0
    )[:8_000]


def _measured(given: Input) -> None:
    _overlaid(read_measurements(metrics=["-"], stdin=io.BytesIO(given.content), clock_ms=1_795_262_400_000))


def _overlaid(measured: Measurements) -> None:
    snapshot_from_row(with_measured_lags(row(), measured).row, NAME)


_OFFSETS = [
    b"my.app-A-changelog:0:123\nmy.app-A-changelog:1:\n\nother:0:1\n",
    b'{"my.app-A-changelog-0": 123}',
    b'{"t": 10, "end": {"a-0": 100}}\n{"t": 20, "end": {"a-0": 200}}\n',
    b'[{"topic": "my.app-A-changelog", "partition": 0, "offset": 123}]',
    b'{"time": "1970-01-01T00:00:05Z", "offsets": {"my.app-A-changelog": {"0": 123}}}',
]
_STORE_LAGS: list[Any] = [
    {"orders-0": {"A": {"0": {"currentOffsetPosition": 7, "endOffsetPosition": 10, "offsetLag": 3}, "1": {}}}},
    {"h": {"A": {"0": {"currentOffsetPosition": 7, "endOffsetPosition": 10}}}},
]


def _payload_given(chance: random.Random) -> Input:
    payload = chance.choice(_payloads())
    return Input(mutations.damaged(payload.data, chance), (payload.kind,))


@cache
def _payloads() -> list[wire_payloads.Payload]:
    return wire_payloads.payloads()


def _payload(given: Input) -> None:
    with suppress(PayloadError):  # the reader of members says of whom
        wire_payloads.READERS[given.arguments[0]](given.content)


# --- words ------------------------------------------------------------------------------------------------------

_WORDS = ["90s", "10m", "1.5h", "1m30s", "250ms", "5000/s", "300000/m", "4GiB", "1.5 GB", "2_000_000", "5%", "2.5 %"]
_WORDS += [
    "2026-11-21T12:00:00Z",
    "2026-11-21 12:00:00.123+01:00",
    "2026-02-30T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "1e3",
]
_PARSERS: list[Callable[[str], object]] = [
    quantities.parse_duration,
    quantities.parse_rate,
    quantities.parse_count,
    quantities.parse_share,
    quantities.parse_size,
    parse_time,
]


def _words_given(chance: random.Random) -> Input:
    return Input(mutations.text(chance.choice(_WORDS).encode(), chance))


def _words(given: Input) -> None:
    for parse in _PARSERS:
        try:
            parse(given.content.decode("utf-8", "surrogateescape"))
        except ValueError:
            continue  # what every caller tells as an error of its own


#: By name. Whatever of Spark's is not read here is in ``spark_targets.py``.
TARGETS: dict[str, Target] = {
    "snapshot": Target(_of_documents(_rows), named(_snapshot)),
    "snapshots": Target(lambda chance: Input(_several(_rows(), chance)), named(_newest)),
    "streams-groups": Target(group_rows.streams, group_rows.run_one),
    "connect-groups": Target(group_rows.connect, group_rows.run_one),
    "lags": Target(lambda chance: Input(json.dumps(_sound(_lag_rows(), chance)).encode()), _lags),
    "plan": Target(_of_documents(_plans), named(_saved)),
    "simulation": Target(_of_documents(_simulations), named(_saved)),
    "history": Target(_history_given, _read_history),
    "policy": Target(_of_texts(_policies), named(lambda given: read_policy(given.content, NAME))),
    "scenario": Target(_of_texts(_scenarios), _scenario),
    "settings": Target(_of_texts(lambda: _SETTINGS), named(_from_file(load_streams_config))),
    "client-properties": Target(_of_texts(lambda: _CLIENT), named(_from_file(_client))),
    "names": Target(_of_texts(lambda: _NAMES), named(_from_file(load_instance_names))),
    "topology": Target(
        _of_texts(lambda: _TOPOLOGIES),
        named(lambda given: read_topology(given.content.decode("utf-8", "replace"), NAME)),
    ),
    "log": Target(_of_texts(_logs), _log),
    "connect-log": Target(_of_texts(_connect_logs), _connect_log),
    "connect-status": Target(_of_documents(_connect_answers), named(_connect_status)),
    "connect-settings": Target(_of_texts(lambda: _CONNECT_SETTINGS), named(_from_file(load_connect_config))),
    "metrics": Target(_of_texts(_metrics), _measured),
    "offsets": Target(_of_texts(lambda: _OFFSETS), lambda given: read_offsets(["-"], io.BytesIO(given.content), 5_000)),
    "store-lags": Target(
        _of_documents(lambda: _STORE_LAGS), lambda given: read_store_lags(["-"], io.BytesIO(given.content), 5_000)
    ),
    "payloads": Target(_payload_given, _payload),
    "quantities": Target(_words_given, _words),
    "command-line": Target(command_lines.given, command_lines.run_one),
    "commands": Target(command_lines.given_content, command_lines.run_one),
}


def _several(seeds: list[Any], chance: random.Random) -> bytes:
    rows = [mutations.changed(chance.choice(seeds[:4]), chance) for _ in range(chance.randint(1, 4))]
    if chance.random() < 0.5:
        return mutations.packed(mutations.json_bytes(rows, chance), chance)
    return mutations.packed(b"\n".join(mutations.json_bytes(one, chance) for one in rows), chance)


def _sound(seeds: list[Any], chance: random.Random) -> Any:
    return mutations.changed(chance.choice(seeds), chance)
