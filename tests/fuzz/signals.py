"""End commands at random moments, by interrupt, termination or kill, and look at what is left.

usage: python tests/fuzz/signals.py [--starts 50] [--command NAME ...] [--seed TEXT]

Asserted of each: exit code 130 or 143 (or that of the whole run, if it was over), one line or none on stderr, nothing
that it started left, no temporary folder left but by a kill, and ``--out`` either as it was or whole. Else this ends
with exit code 1.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
_EXAMPLES = ROOT / "examples"
_SNAPSHOT = str(_EXAMPLES / "scale-out" / "snapshot.json")
_BEFORE = str(_EXAMPLES / "scale-out" / "before.json")
_SCENARIO = str(_EXAMPLES / "scale-out" / "scenario.yaml")
_LOG = str(_EXAMPLES / "leader-log" / "orders.log")
_MAKE_GROUP = [
    str(_EXAMPLES / "large" / "make_group.py"),
    "--pods=10",
    "--tasks=120",
    "--subtopologies=5",
    "--joining=3",
]
#: What is started. Each writes ``out.json`` if it writes anything; ``PLAN`` is a saved plan, ``GROUP`` a large group,
#: ``FLEET`` so many applications that Python workers of Spark's start while they are read.
COMMANDS: dict[str, list[str]] = {
    "show": ["show", "PLAN", "--verbose"],
    "check": ["check", "PLAN"],
    "diff": ["diff", "PLAN"],
    "schema": ["schema", "plan"],
    "snapshot": ["snapshot", _LOG, "--all", "--out", "out.json"],
    "assign": ["assign", _SNAPSHOT, "--out", "out.json"],
    "check-snapshot": ["check", _SNAPSHOT, "--out", "out.json"],
    "simulate-scaleout": ["simulate-scaleout", _SNAPSHOT, "--add", "1", "--set", "draws=20", "--out", "out.json"],
    # so many draws that they are played by other processes
    "draws": ["simulate-scaleout", _SNAPSHOT, "--add", "1", "--set", "draws=100", "--out", "out.json", "--quiet"],
    "simulate": ["simulate", _BEFORE, _SCENARIO, "--set", "draws=5", "--out", "out.json"],
    "compare": ["compare", _SNAPSHOT, "--vary", "max.warmup.replicas=1,2", "--output", "json"],
    "upgrade": ["upgrade", _SNAPSHOT, "--to", "cooperative"],
    "drain": ["drain", _SNAPSHOT, "orders-0"],
    "why": ["why", _SNAPSHOT],
    "bounce": ["bounce", _BEFORE, "--out", "out.json"],
    # so many rounds that what else may be is played by other processes meanwhile
    "long": ["assign", "GROUP", "--out", "out.json", "--quiet"],
    "fleet": ["assign", "FLEET", "--spark-conf", "spark.master=local[2]", "--out", "out.json", "--quiet"],
}
WITH_SPARK = COMMANDS.keys() - {"show", "check", "diff", "schema", "snapshot"}
_CODES = {signal.SIGINT: 130, signal.SIGTERM: 128 + signal.SIGTERM, signal.SIGKILL: -signal.SIGKILL}
_QUIET = {signal.SIGINT: "kstream-plan: interrupted\n", signal.SIGTERM: "", signal.SIGKILL: ""}
#: Much longer than any of them takes where much else is done.
_WAIT_SECONDS = 300


def _start(words: list[str], folder: Path, inputs: Path) -> subprocess.Popen[str]:
    (folder / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "temporary"), "PYTHONPATH": str(ROOT)}
    arguments = [str(inputs / f"{word}.json") if word in ("PLAN", "GROUP", "FLEET") else word for word in words]
    return subprocess.Popen(
        [sys.executable, "-m", "kstream_plan", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",  # a signal may cut what is printed in the middle of a character
        start_new_session=True,
    )


def whole_run(command: str, folder: Path, inputs: Path) -> tuple[int, str, float]:
    """Run a command to its end; return its exit code, what it says, and how long it takes."""
    started = time.monotonic()
    process = _start(COMMANDS[command], folder, inputs)
    _, said = process.communicate(timeout=_WAIT_SECONDS)
    return process.returncode, said, time.monotonic() - started


def ended_at(
    command: str, number: signal.Signals, after: float, folder: Path, inputs: Path, whole: tuple[int, str, float]
) -> list[str]:
    """Start a command, send it a signal after so many seconds, and return what is wrong with how it ends.

    It was run whole in a folder beside.
    """
    process = _start(COMMANDS[command], folder, inputs)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    try:
        _, said = process.communicate(timeout=_WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return ["it does not end"]
    # before our main Python itself ends by the signal, or with a traceback of its own start or of its own modules
    ours = "kstream-plan: " in said or " in main\n" in said
    early = process.returncode in (-number, 1) and not ours
    wrong = []
    if (
        not early
        and (process.returncode, said) != whole[:2]
        and not _is_quiet(process.returncode, said, number, whole[1])
    ):
        wrong.append(f"exit code {process.returncode}, {said[-300:]!r}")
    if not _gone(folder):
        wrong.append("what it has started goes on")
    if number != signal.SIGKILL and not early and (left := sorted((folder / "temporary").iterdir())):
        wrong.append(f"it left {left}")
    out = folder / "out.json"
    if out.exists() and out.read_bytes() != (folder.parent / "whole" / "out.json").read_bytes():
        wrong.append("--out is torn")
    if number != signal.SIGKILL and (torn := [path.name for path in folder.glob(".out*")]):
        wrong.append(f"it left {torn}")
    return wrong


def _is_quiet(code: int, said: str, number: signal.Signals, all_said: str) -> bool:
    """Tell whether it ended by the signal, and said no more than what it had said by then, and that it did."""
    before = said.removesuffix(_QUIET[number])
    return code == _CODES[number] and said.endswith(_QUIET[number]) and all_said.startswith(before)


def _gone(folder: Path) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not any(_is_of(process, folder) for process in Path("/proc").glob("[0-9]*")):
            return True
        time.sleep(0.05)
    return False


def _is_of(process: Path, folder: Path) -> bool:
    try:
        return f"TMPDIR={folder}/".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def tried(command: str, starts: int, seed: str) -> tuple[Counter[int], list[str]]:
    """Start a command so many times; return the exit codes, and what is wrong."""
    from tests.helpers import fleets

    chance = random.Random(f"{seed} {command}")
    codes: Counter[int] = Counter()
    found: list[str] = []
    with tempfile.TemporaryDirectory() as top:
        inputs = Path(top, "inputs")
        inputs.mkdir()
        (inputs / "PLAN.json").write_text(_saved_plan(), encoding="utf-8")
        if "GROUP" in COMMANDS[command]:
            subprocess.run([sys.executable, *_MAKE_GROUP, inputs / "GROUP.json"], check=True)
        if "FLEET" in COMMANDS[command]:
            fleets.write_fleet(inputs / "FLEET.json", 1_300, tasks=1)
        Path(top, "whole").mkdir()
        whole = whole_run(command, Path(top, "whole"), inputs)
        for place in range(starts):
            number = chance.choice(list(_CODES))
            after = chance.uniform(0, whole[2] * 1.05)
            folder = Path(top, str(place))
            folder.mkdir()
            wrong = ended_at(command, number, after, folder, inputs, whole)
            codes[int(number)] += 1
            found += [f"{command} {number.name} after {after:.3f} s: {what}" for what in wrong]
    return codes, found


def _saved_plan() -> str:
    from kstream_plan.documents.plan.write import plan_json
    from tests.helpers import plan_cases

    return plan_json(plan_cases.case("scale-out")) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--command", action="append", choices=sorted(COMMANDS))
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where a shell has us ignore it, what we start would, too
    failed = False
    for command in options.command or list(COMMANDS):
        codes, found = tried(command, options.starts, options.seed)
        counts = ", ".join(f"{signal.Signals(number).name} {count}" for number, count in sorted(codes.items()))
        print(f"{command:18} {counts}: {len(found)} wrong", flush=True)
        for what in found:
            print(f"    {what}", flush=True)
        failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
