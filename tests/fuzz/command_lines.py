"""Command lines by chance: every command and option there is, with values that fit, nearly fit, or do not at all."""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

from typer.main import get_command

from kstream_plan.cli.application import application
from kstream_plan.designs import DESIGNS
from kstream_plan.documents.plan.write import plan_json
from tests.fuzz import mutations
from tests.fuzz.oracle import Answer, Input, answered
from tests.fuzz.without_spark import without_spark
from tests.helpers import captured, check_cases, plan_cases, target_cases
from tests.helpers.connect_rows import even
from tests.helpers.snapshot_rows import row

#: What a command line's own input is called.
FILE = "given.json"
_EXAMPLES = Path(__file__).parents[2] / "examples"
_PATHS = [
    "plan.json",
    "snapshot.json",
    "connect.json",
    "two.jsonl",
    "leader.log",
    "connect.log",
    "policy.yaml",
    "app.properties",
    "scenario.yaml",
]
_PATHS += [
    FILE,
    "gone.json",
    "*.json",
    "*.nothing",
    ".",
    "",
    "-",
    "/dev/zero",
    "file://[x",
    "s3a://b/k",
    "[",
    "a\nb",
    "\x1b[31m",
]
_PATHS += [
    "x" * 300,
    "out.json",
    "folder/out.json",
    "--",
    "names.yaml",
    "topology.txt",
    "é",
    "**",
    "~",
    "$HOME",
    "plan.json/x",
]
_NUMBERS = ["0", "1", "2", "5", "-1", "1.5", "1e3", "999999999999999999999", "nan", "inf", "", "x", "0x10", "1_0", "٣"]
_WORDS = [
    "orders",
    "S1",
    "*",
    "o?ders",
    "[",
    "K=V",
    "=",
    "spark.x=1",
    "0_0",
    "9_9",
    "orders-0",
    "1d29",
    "settled",
    "table",
    "json",
]
_WORDS += [
    "markdown",
    "junit=r.xml",
    "sarif=r.json",
    "github=-",
    "x=y",
    "2026-11-21T12:00:00Z",
    "2026-11-21",
    "yesterday",
    "local",
]
_WORDS += [
    "high-availability",
    "balanced",
    "cooperative",
    "eager",
    "mixed",
    "join",
    "probing",
    "localhost:1",
    "a:b",
    "classic",
]
_WORDS += [
    "10m",
    "90s",
    "1h",
    "-5s",
    "10 parsecs",
    "5000/s",
    "x/s",
    "1GiB",
    "1 potato",
    "20%",
    "zone=a",
    "a,b",
    "\udcff",
    "[red]",
]
#: What would be waited for or served, and how many of something there may be: the answer is the same, sooner.
_TOO_SLOW = {
    "--help",
    "--install-completion",
    "--show-completion",
    "--debug",
    "--bootstrap-server",
    "--connect-url",
}
#: Commands that may wait for ever.
_WAITING = {"follow", "wait"}
_FITTING: dict[str, list[str]] = {
    "--where": ["cold > 0", "left > 1h and outcome = moving", "cold", "no > 1", ""],
    "--sort": ["cold", "restored", "application", "no"],
    "--out": ["out.json", "out.json", "folder/out.json", "plan.json"],
    "--policy": ["policy.yaml", FILE],
    "--scenario": ["scenario.yaml", FILE],
    "--streams-config": ["app.properties", "connect.properties", FILE],
    "--baseline": ["plan.json", FILE],
    "--leader-log": ["leader.log", FILE],
    "--generation": ["7", "8", "99"],
    "--vary": ["max.warmup.replicas=2,4", "num.standby.replicas=0,1", "assignor=balanced,x", "=", "a=b,"],
    "--add": ["1", "2", "0"],
    "--to": ["1", "3", "9", "2026-11-21T12:00:00Z", "cooperative"],
    "--design": [*DESIGNS, "connect", "connect-design-3:step=1,delay=10s", "learner:max.learners=0", "x"],
    "--set": [
        *("session.timeout.ms=10s", "stores=in-memory", "max.warmup.replicas=x", "a", "max.rounds=3", "max.rounds=0"),
        *("timeout=50ms", "max.text=1MiB", "max.text=100", "bounds=true", "trigger=join", "full=true", "old.round=1"),
        *("top=1", "top=0", "out.format=csv", "keep.going=true", "every=1s", "over=0s", "broker.version=4.3"),
        *("target=target.properties", f"target={FILE}"),
    ],
    "--by": ["static", "host", "client", "process", "tag:zone", "tag:", "x"],
    "--new": ["rack=a", "tags=zone=a", "threads=2", "id=x", "at=10m", "a=b", "rack"],
}
_POSITIONAL: dict[str, list[list[str]]] = {
    "assign": [["snapshot.json"], ["two.jsonl"], [FILE]],
    "simulate-scaleout": [["snapshot.json"], [FILE]],
    "simulate": [
        ["snapshot.json", "scenario.yaml"],
        [FILE, "scenario.yaml"],
        ["snapshot.json", FILE],
        ["connect.json", "restart.yaml", "--design", "connect", "--design", "connect-design-2"],
        ["connect.json", FILE, "--design", "connect-eager"],
        [FILE, "scenario.yaml", "--design", "classic", "--design", "learner"],
    ],
    "drain": [["snapshot.json", "orders-0"], [FILE, "orders-1"], ["two.jsonl", "1d29", "8d29"]],
    "why": [
        ["snapshot.json"],
        ["snapshot.json", "--task", "0_0"],
        [FILE, "--instance", "orders-1"],
        [FILE, "--replay"],
    ],
    "bounce": [["snapshot.json"], ["snapshot.json", "--restart", "20s"], [FILE]],
    "check": [["plan.json"], ["snapshot.json"], [FILE], ["plan.json", FILE], ["snapshot.json", "--policy", FILE]],
    "show": [["plan.json"], [FILE]],
    "fleet": [["snapshot.json"], ["plan.json"], ["two.jsonl", "plan.json"], [FILE]],
    "history": [["snapshot.json"], [FILE], [FILE, "--set", "over=1h"]],
    "help": [["assign"], ["nothing"], ["index", "--color", "never"]],
    "diff": [["plan.json"], ["plan.json", FILE], ["snapshot.json", "snapshot.json"], [FILE, "snapshot.json"], [FILE]],
    "upgrade": [
        ["snapshot.json", "--to", "cooperative"],
        [FILE, "--to", "cooperative"],
        [FILE, "--to", "streams", "--set", "broker.version=4.3", "--draws", "1"],
    ],
    "snapshot": [
        ["leader.log"],
        [FILE],
        ["connect.log"],
        ["connect-log=connect.log", FILE],
        ["connect-status.json"],
    ],
    "compare": [
        ["snapshot.json", "--vary", "max.warmup.replicas=1,4"],
        [FILE, "--add", "1", "--draws", "2", "--vary", "assignor=balanced,high-availability"],
        ["plan.json", FILE],
        ["plan.json", "plan.json"],
    ],
    "export-target": [
        ["plan.json", "--by", "process", "--out", "target.properties"],
        [FILE, "--by", "tag:zone", "--new"],
        ["--stay", FILE, "--by", "host", "--out", "out.json"],
    ],
    "check-target": [["target.properties", "snapshot.json"], ["target.properties", FILE], [FILE, "snapshot.json"]],
    "plugin": [["--out", FILE], ["--out", "plan.json"]],
    "prepare": [["it takes nothing"]],
    "schema": [["plan"], ["policy"], ["x"]],
}


@cache
def _files() -> dict[str, bytes]:
    snapshot = json.dumps(row()).encode()
    other = json.dumps({**row(), "application_id": "payments"}).encode()
    return {
        "plan.json": plan_json(plan_cases.case("settled")).encode(),
        "snapshot.json": snapshot,
        "two.jsonl": snapshot + b"\n" + other + b"\n",
        "connect.json": json.dumps(even()).encode(),
        "restart.yaml": b"events:\n  - {at: 0s, bounce: {instances: all, restart: 20s}}\n",
        "leader.log": (_EXAMPLES / "leader-log" / "orders.log").read_bytes(),
        "connect.log": (_EXAMPLES / "connect" / "worker-1.log").read_bytes(),
        "connect-status.json": gzip.decompress((captured.REAL / "connect" / "rest1.json.gz").read_bytes()),
        "connect.properties": (_EXAMPLES / "connect" / "connect-distributed.properties").read_bytes(),
        "policy.yaml": check_cases.STRICT,
        "app.properties": b"max.warmup.replicas=3\n",
        "scenario.yaml": b"events:\n  - {at: 0s, join: 1}\n  - {at: 5m, stop: [orders-1]}\n",
        "target.properties": target_cases.TARGET,
        "names.yaml": b"orders-0: {host: a}\n",
        "topology.txt": (captured.REAL / "scale-out" / "topology.txt").read_bytes(),
    }


@cache
def _commands() -> dict[str, list[tuple[str, bool]]]:
    """The options of every command, and whether each takes a value."""
    found = get_command(application()).commands  # type: ignore[attr-defined]
    return {
        name: [
            (option, not getattr(parameter, "is_flag", False))
            for parameter in command.params
            for option in parameter.opts
            if option.startswith("--") and option not in _TOO_SLOW
        ]
        for name, command in found.items()
        if name not in _WAITING
    }


def _value(option: str, chance: random.Random) -> str:
    if option in _FITTING and chance.random() < 0.7:
        return chance.choice(_FITTING[option])
    return chance.choice(chance.choice((_PATHS, _NUMBERS, _WORDS)))


def _options(command: str, chance: random.Random, most: int) -> list[str]:
    found: list[str] = []
    for _ in range(chance.randint(0, most) if _commands()[command] else 0):
        option, takes_value = chance.choice(_commands()[command])
        found += [option, _value(option, chance)] if takes_value else [option]
    return found


def given(chance: random.Random) -> Input:
    """Return a command line with a few options, or words in any order; its own file is a snapshot."""
    if chance.random() < 0.05:
        words = [chance.choice(chance.choice((_PATHS, _NUMBERS, _WORDS, list(_commands())))) for _ in range(4)]
        return Input(b"", tuple(words))
    command = chance.choice(list(_commands()))
    arguments = [*chance.choice(_POSITIONAL[command]), *_options(command, chance, 4)]
    if chance.random() < 0.15:
        arguments[chance.randrange(len(arguments))] = chance.choice(chance.choice((_PATHS, _WORDS)))
    return Input(json.dumps(row()).encode(), (command, *arguments))


def given_content(chance: random.Random) -> Input:
    """Return a command line that fits, about a file that is nearly what it takes."""
    command = chance.choice([name for name, item in _POSITIONAL.items() if any(FILE in words for words in item)])
    arguments = [
        *chance.choice([words for words in _POSITIONAL[command] if FILE in words]),
        *_options(command, chance, 1),
    ]
    return Input(_content(command, arguments, chance), (command, *arguments))


def _content(command: str, arguments: list[str], chance: random.Random) -> bytes:
    files = _files()
    before = arguments[arguments.index(FILE) - 1] if FILE in arguments[1:] else ""
    if command == "snapshot":
        log = "connect.log" if before.startswith("connect-log=") else "leader.log"
        return mutations.packed(mutations.text(files[log], chance), chance)
    if before == "--policy":
        return mutations.text(files["policy.yaml"], chance)
    if command == "simulate" and before in ("snapshot.json", "connect.json"):
        return mutations.text(files["scenario.yaml"], chance)
    if command == "check-target" and not before:
        return mutations.text(files["target.properties"], chance)
    is_plan = command in ("show", "diff") or (command == "export-target" and not before) or before == "plan.json"
    document: Any = json.loads(files["plan.json" if is_plan else "snapshot.json"])
    return mutations.packed(mutations.json_bytes(mutations.changed(document, chance), chance), chance)


def run_one(given: Input) -> Answer:
    """Run a command line in a folder with the files that it may name."""
    with without_spark():
        return answered(given.arguments, {**_files(), FILE: given.content}, stdin=given.content)
