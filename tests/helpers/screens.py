"""Every command of the command line, asked of groups of each kind and of two sizes, and what it then shows.

A command is run in a folder that has the files of its group: ``before.json`` (balanced), ``joined.json`` (a tenth or
two fifths of its instances have just joined), ``after.json`` (as the plan of that ends), and what else it takes.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from kstream_plan.cli import pages as cli_pages
from kstream_plan.cli import run
from kstream_plan.documents.plan.end_snapshot import end_snapshot
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.render.check import table as check_table
from kstream_plan.render.page import Page
from kstream_plan.render.terminal import to_terminal
from kstream_plan.simulation.one_plan import plan as plan_once
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.leader_log.history import checked_rows
from kstream_plan.snapshots.rows.write import row_lines
from tests.helpers import connect_rows, recorded_events, streams_rows
from tests.helpers.captured import REAL
from tests.helpers.connect_rows import snapshot as snapshot_of

EXAMPLES = Path(__file__).parents[2] / "examples"
NOW = "--set now=2026-11-22T13:00:00Z"
_CAPTURED_AT = "2026-11-22T12:00:00Z"

POLICY = """version: 1
defaults:
  max_duration: 45m
  max_rebalances: {limit: 12, level: warning, reason: the shop is open}
  max_cold_handovers: 0
  max_pause_per_task: 20s
  max_paused_tasks_at_once: 500
  max_moves: 90%
waivers:
  - {application: "*", rule: max_pause_per_task, until: 2027-01-31, reason: OPS-412}
"""
SCENARIO = """version: 1
events:
  - {at: 0s, crash: %(first)s}
  - {at: 2m, return: {instances: %(first)s, disk: true}}
  - {at: 20m, join: {count: 1}}
  - {at: 40m, bounce: {instances: [%(second)s], restart: 20s, pause: 2m}}
"""

_CLASSIC = {
    "assign": "assign joined.json",
    "assign-cold": "assign cold.json --restore-rate 100/s",
    "simulate": "simulate before.json scenario.yaml --set stores=persistent --set draws=2 --set what.if=false",
    "simulate-scaleout": "simulate-scaleout before.json --add 2 --set draws=3",
    "simulate-scaleout-learner": "simulate-scaleout before.json --add 2 --design learner --design classic "
    "--set draws=2",
    "compare": "compare before.json --add 2 --vary max.warmup.replicas=2,4,8 --set draws=3",
    "compare-two-axes": "compare before.json --add 2 --vary max.warmup.replicas=2,4,20 --vary "
    "assignor=high-availability,balanced --policy policy.yaml --set draws=3",
    "drain": f"drain standbys.json orders-1 --set stores=persistent {NOW}",
    "drain-cold": f"drain before.json orders-1 --set stores=persistent {NOW}",
    "bounce": "bounce before.json --set stores=persistent",
    "bounce-instance": f"bounce standbys.json --instance orders-1 --set stores=persistent {NOW}",
    "why": "why joined.json",
    "why-task": "why joined.json --task 0_0",
    "why-instance": "why joined.json --instance orders-1",
    "check": f"check joined.json --policy policy.yaml {NOW}",
    "show": "show plan.json --round 3",
    "show-task": "show plan.json --task 0_0",
    "fleet": "fleet calm.json joined.json cold.json standbys.json",
    "history": "history lags.jsonl",
    "diff": "diff before.json after.json",
    "diff-plan": "diff plan.json",
    "upgrade-cooperative": "upgrade eager.json --to cooperative",
    "upgrade-streams": "upgrade before.json --to streams --set broker.version=4.3 --add 1 --restore-rate 1000/s "
    "--set draws=2",
}
#: What a large group shows in another way than a small one.
_LARGE = {
    **{
        name: _CLASSIC[name]
        for name in ("assign", "drain", "bounce-instance", "why", "check", "fleet", "history", "diff")
    },
    "simulate-scaleout": "simulate-scaleout before.json --add 20 --set draws=2 --set what.if=false",
    "compare": "compare before.json --add 20 --vary max.warmup.replicas=20,40 --set draws=1",
}
_RECORDED = {
    "diff-plan-history": "diff said.json history.jsonl --from 2026-11-22T12:26:38.227Z",
    "diff-plan-other-history": "diff said.json history.jsonl --from 2",
    "snapshot-list": "snapshot leader.log.gz --list",
}
_STREAMS = {
    "assign": "assign joined.json",
    "simulate": "simulate before.json scenario.yaml --set draws=2",
    "simulate-scaleout": "simulate-scaleout before.json --add 2 --restore-rate 1000/s --set draws=2",
    "drain": f"drain before.json s1 --set stores=persistent {NOW}",
    "check": f"check joined.json --policy policy.yaml {NOW}",
    "fleet": "fleet calm.json joined.json",
}
_CONNECT = {
    "assign": "assign joined.json",
    "simulate": "simulate before.json scenario.yaml --set draws=2",
    "simulate-scaleout": "simulate-scaleout before.json --add 2 --set draws=2",
    "compare": "compare before.json --add 2 --vary design=connect,connect-eager,connect-design-1 --set draws=2",
    "drain": f"drain before.json w1 {NOW}",
    "check": f"check joined.json --policy policy.yaml {NOW}",
    "fleet": "fleet calm.json joined.json",
    "diff": "diff before.json joined.json",
    "upgrade": "upgrade compatible.json --to sessioned",
}
_LISTED = {"snapshot-list": "snapshot worker-1.log worker-2.log worker-3.log --list"}

#: Group and size → command → its command line.
COMMANDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "classic-5": {**_CLASSIC, **_RECORDED},
        "classic-220": _LARGE,
        "streams-5": _STREAMS,
        "streams-220": {name: _STREAMS[name] for name in ("assign", "drain")},
        "connect-5": {**_CONNECT, **_LISTED},
        "connect-220": {name: _CONNECT[name] for name in ("assign", "drain", "diff")},
    }
)
NAMES = tuple(f"{group}/{command}" for group, commands in COMMANDS.items() for command in commands)


#: What has no JSON form of its own: what it shows is in this file.
_DOCUMENTS = {"show": "plan.json", "show-task": "plan.json", "snapshot-list": "snapshots.jsonl"}


class Screen(NamedTuple):
    """What a command shows in a terminal of 80 columns, and the pages of it, to be drawn for another one."""

    text: str
    pages: tuple[Page, ...]

    def drawn(self, width: int, *, colour: bool = False) -> str:
        """Return the pages as the command prints them where that is the width."""
        return "\n".join(to_terminal(page, width=width, colour=colour) for page in self.pages)


@cache
def screen(name: str) -> Screen:
    """Run a command and return what it shows; Spark has to be there."""
    pages: list[Page] = []

    def keep(page: Page, **shape: Any) -> str:
        pages.append(page)
        return to_terminal(page, **shape)

    with pytest.MonkeyPatch.context() as patch:
        for module in (cli_pages, check_table):
            patch.setattr(module, "to_terminal", keep)
        return Screen(_run(name), tuple(pages))


def run_in(group: str, words: str) -> str:
    """Run a command line among the files of a group, and return what it prints for 80 columns."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as output:
        patch.chdir(folder_of(group))
        patch.setenv("COLUMNS", "80")
        patch.delenv("FORCE_COLOR", raising=False)
        code = run(words.split())
    assert code in (0, 3, 4), (words, code)
    return output.getvalue()


@cache
def document(name: str) -> Any:
    """Run a command and return what it says as JSON, a list where there are several."""
    group, command = name.split("/")
    file = _DOCUMENTS.get(command)
    if command == "check":
        file = "check.json"
        _run(name, "--report", f"json={file}")
    text = _run(name, "--output", "json") if file is None else (folder_of(group) / file).read_text(encoding="utf-8")
    documents = [json.loads(line) for line in text.splitlines()]
    return documents[0] if len(documents) == 1 else documents


def _run(name: str, *options: str) -> str:
    group, command = name.split("/")
    return run_in(group, " ".join([COMMANDS[group][command], *options]))


@cache
def _temporary_folder(group: str) -> tempfile.TemporaryDirectory[str]:
    """Make the folder of a group, which is there until the process ends."""
    temporary_directory = tempfile.TemporaryDirectory()
    write_files(group, Path(temporary_directory.name))
    return temporary_directory


def folder_of(group: str) -> Path:
    """Return the folder that has the files of a group; made once."""
    return Path(_temporary_folder(group).name)


def write_files(group: str, folder: Path) -> None:
    """Write the files of a group into a folder."""
    kind, size = group.split("-")
    _WRITERS[kind](int(size), folder)


def _classic(size: int, folder: Path) -> None:
    old = 3 if size == 5 else size * 10 // 11
    tasks, warmups = (8 * old, 2) if size == 5 else (3 * old, 40)
    before = classic_row(old, tasks, warmups)
    joined = {**before, "generation": 13, "instances": [*before["instances"], *_joining(old, size)]}
    alive = [instance for instance in before["instances"] if instance["host"] != "orders-1"]
    _write(folder, "before.json", before)
    _write(folder, "joined.json", joined)
    _write(folder, "after.json", _end(joined))
    _write(folder, "cold.json", {**before, "application_id": "shop", "instances": alive})
    _write(folder, "calm.json", {**before, "application_id": "calm"})
    with_standbys = {**joined, "application_id": "payments", "config": {**before["config"], "num_standby_replicas": 1}}
    _write(folder, "standbys.json", _end(with_standbys))
    _write(folder, "eager.json", classic_row(old, tasks, warmups, protocols=["eager"]))
    (folder / "lags.jsonl").write_text("".join(_lags(before)), encoding="utf-8")
    _write_texts(folder, "orders-1", "orders-2")
    if size == 5:
        plan = plan_checked(snapshot_of(joined))
        (folder / "plan.json").write_text(f"{plan_json(plan)}\n", encoding="utf-8")
        _write_recorded(folder)


def _end(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the snapshot of the end of what follows from one."""
    return end_snapshot(plan_once(snapshot_of(row), floor=False, ranges=False))


def classic_row(size: int, tasks: int, warmups: int, *, protocols: list[str] | None = None) -> dict[str, Any]:
    """Return a settled group without standbys: stateful tasks of two subtopologies, and a stateless one's."""
    stateful = [f"{place % 2}_{place // 2}" for place in range(tasks)]
    stateless = [f"2_{place}" for place in range(tasks // 4)]
    instances = []
    for place in range(size):
        held = [*stateful[place::size], *stateless[place::size]]
        consumers = [
            {"consumer_id": f"orders-{place}-{thread + 1}", "active": held[thread::2]}
            | ({} if protocols is None else {"protocols": protocols})
            for thread in range(2)
        ]
        instances.append({"process_id": _process_id(place), "host": f"orders-{place}", "consumers": consumers})
    instances[0]["leader"] = True
    topics = ("orders", "clicks")
    return {
        "format_version": "1.0",
        "application_id": "orders",
        "generation": 12,
        "captured_at": _CAPTURED_AT,
        "config": {
            "acceptable_recovery_lag": 100,
            "max_warmup_replicas": warmups,
            "probing_rebalance_interval_ms": 60_000,
        },
        "tasks": [
            *(
                {
                    "task_id": task,
                    "stateful": True,
                    "end_offset_sum": 2_000 * (1 + int(task[0])),
                    "source_partitions": [{"topic": topics[int(task[0])], "partition": int(task[2:])}],
                }
                for task in stateful
            ),
            *({"task_id": task, "stateful": False} for task in stateless),
        ],
        "instances": instances,
    }


def _joining(old: int, size: int) -> list[dict[str, Any]]:
    return [
        {
            "process_id": _process_id(place),
            "host": f"orders-{place}",
            "consumers": [{"consumer_id": f"orders-{place}-{thread + 1}"} for thread in range(2)],
        }
        for place in range(old, size)
    ]


def _process_id(place: int) -> str:
    return f"{place * 2_654_435_761 % 2**32:08x}-571c-4eee-96be-fa395e3c536c"


def _lags(before: Mapping[str, Any]) -> Iterator[str]:
    """Yield lag rows of an hour: the first instance falls behind."""
    for minute in range(0, 61, 15):
        for place, instance in enumerate(before["instances"]):
            lag = 20 * minute if place == 0 else 5
            for task in instance["consumers"][0]["active"][:2]:
                row = {"application_id": "orders", "process_id": instance["process_id"], "task_id": task, "lag": lag}
                row |= {"captured_at": f"2026-11-22T{11 + minute // 60}:{minute % 60:02d}:00Z"}
                yield f"{json.dumps({**row, 'end_offset': 1_000 + 60 * minute})}\n"


def _write_recorded(folder: Path) -> None:
    """Write a plan of a real group's event, what then happened, and the log of another one."""
    event = recorded_events.BY_NAME["drain"]
    said = plan_json(recorded_events.planned(event), full=True)
    (folder / "said.json").write_text(f"{said}\n", encoding="utf-8")
    rows = row_lines(checked_rows(recorded_events.generations("bounce")))
    (folder / "history.jsonl").write_text("".join(rows), encoding="utf-8")
    log = gzip.decompress((REAL / "scale-out-standbys" / "leader.log.gz").read_bytes())
    (folder / "leader.log.gz").write_bytes(gzip.compress(log, mtime=0))


def _streams(size: int, folder: Path) -> None:
    old = 3 if size == 5 else size * 10 // 11
    topology = {"0": (4 * old, True, 2_000), "1": (4 * old, True, 4_000), "2": (2 * old, False, 0)}
    instances = {
        f"s{place}": [{"consumer_id": f"s{place}-1", "member_epoch": 12, "position": place, **held, "target": held}]
        for place, held in enumerate(_streams_tasks(place, old, topology) for place in range(old))
    }
    before = streams_rows.row(
        "4.4",
        instances,
        topology,
        standbys=1,
        application_id="orders",
        captured_at=_CAPTURED_AT,
        target_epoch=12,
        group_state="Stable",
    )
    before["tasks"] = [task if task["stateful"] else {**task, "end_offset_sum": None} for task in before["tasks"]]
    nothing: dict[str, list[str]] = {"active": [], "standby": [], "warmup": []}
    joined = [
        {
            "process_id": f"s{place}",
            "consumers": [
                {"consumer_id": f"s{place}-1", "member_epoch": 0, "position": place, **nothing, "target": nothing}
            ],
        }
        for place in range(old, size)
    ]
    _write(folder, "before.json", before)
    epochs = {"generation": 13, "group_state": "Assigning"}
    _write(folder, "joined.json", {**before, **epochs, "instances": [*before["instances"], *joined]})
    _write(folder, "calm.json", {**before, "application_id": "calm"})
    _write_texts(folder, "s1", "s2")


def _streams_tasks(place: int, size: int, topology: Mapping[str, tuple[int, bool, int]]) -> dict[str, list[str]]:
    def tasks(first: int, *, stateless: bool) -> list[str]:
        return [
            f"{name}_{partition}"
            for name, (partitions, stateful, _) in topology.items()
            if stateful or stateless
            for partition in range(first, partitions, size)
        ]

    return {"active": tasks(place, stateless=True), "standby": tasks((place + 1) % size, stateless=False)}


def _connect(size: int, folder: Path) -> None:
    old = 3 if size == 5 else size * 10 // 11
    before = connect_rows.even(old, captured_at=_CAPTURED_AT)
    joined = [{"process_id": f"w{place}", "java": 17, "held": []} for place in range(old, size)]
    _write(folder, "before.json", before)
    _write(folder, "joined.json", {**before, "generation": 13, "instances": [*before["instances"], *joined]})
    _write(folder, "calm.json", {**before, "application_id": "calm"})
    _write(folder, "compatible.json", {**before, "config": {**before["config"], "connect_protocol": "compatible"}})
    _write_texts(folder, "w1", "w2")
    for number in (1, 2, 3) if size == 5 else ():
        shutil.copy(EXAMPLES / "connect" / f"worker-{number}.log", folder)


_WRITERS: Mapping[str, Callable[[int, Path], None]] = {"classic": _classic, "streams": _streams, "connect": _connect}


def _write(folder: Path, name: str, row: Mapping[str, Any]) -> None:
    (folder / name).write_text(f"{json.dumps(row)}\n", encoding="utf-8")


def _write_texts(folder: Path, first: str, second: str) -> None:
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (folder / "scenario.yaml").write_text(SCENARIO % {"first": first, "second": second}, encoding="utf-8")
