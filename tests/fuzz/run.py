"""Fuzz every reader, command and option.

usage: python tests/fuzz/run.py --inputs N [--target NAME ...] [--seed TEXT] [--found FOLDER]

``--inputs`` is how many in all; a command line costs a hundred times what a word costs, so there are fewer of those.
Each input follows from the seed, the target and its number alone. What fails is written as a test, ready to run, into
``tests/fuzz/found``; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import random
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from kstream_plan.cli import application as _loaded  # noqa: F401 - what is loaded now is not an input's time
from tests.fuzz.oracle import Input, check
from tests.fuzz.targets import TARGETS

FOUND = Path(__file__).parent / "found"
#: Of so many inputs for others a target has one: these are slow.
SLOW = {"command-line": 4, "commands": 8, "client-properties": 2, "log": 2, "simulation": 2, "plan": 2, "history": 2}
SLOW |= {"streams-groups": 4, "connect-groups": 2}

_TEST = '''"""Found by the fuzzer: {what}"""

from tests.fuzz.run import replayed


def test_it_is_taken_or_refused() -> None:
    assert replayed({target!r}, {packed!r}, {arguments!r}) is None
'''


def inputs(target: str, seed: str, number: int) -> Iterator[Input]:
    """Yield so many inputs of a target."""
    for place in range(number):
        yield TARGETS[target].given(random.Random(f"{seed} {target} {place}"))


def fuzz(target: str, seed: str, number: int, folder: Path = FOUND) -> list[str]:
    """Try so many inputs, write those that fail as tests, and return what is wrong with them, each kind once."""
    found: dict[str, str] = {}
    for given in inputs(target, seed, number):
        what = check(TARGETS[target].run, given)
        if what is not None and _kind(what) not in found:
            found[_kind(what)] = f"{what} ({_as_test(target, given, what, folder)})"
    return list(found.values())


def replayed(target: str, packed: str, arguments: tuple[str, ...]) -> str | None:
    """Return what is wrong with an input that was found; ``None`` if nothing is any more."""
    return check(TARGETS[target].run, Input(zlib.decompress(base64.b85decode(packed)), arguments))


def _kind(what: str) -> str:
    """What is alike of two failures: their words without what is of the input."""
    return "".join(letter for letter in what if not letter.isdigit())[:60]


def _as_test(target: str, given: Input, what: str, folder: Path) -> Path:
    digest = hashlib.sha256(given.content + repr(given.arguments).encode()).hexdigest()[:10]
    packed = base64.b85encode(zlib.compress(given.content, 9)).decode()
    shown = ascii(what)[1:-1].replace('"', "'")[:80]
    folder.mkdir(exist_ok=True)
    path = folder / f"test_{target.replace('-', '_')}_{digest}.py"
    text = _TEST.format(what=shown, target=target, packed=packed, arguments=given.arguments)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--target", action="append", choices=sorted(TARGETS))
    parser.add_argument("--seed", default="1")
    parser.add_argument("--found", type=Path, default=FOUND)
    options = parser.parse_args()
    targets = options.target or list(TARGETS)
    shares = {target: 1 / SLOW.get(target, 1) for target in targets}
    failed = False
    done, started = 0, time.monotonic()
    os.environ["COLUMNS"] = "100"
    for target in targets:
        number = round(options.inputs * shares[target] / sum(shares.values()))
        before = time.process_time()
        found = fuzz(target, options.seed, number, options.found)
        spent = time.process_time() - before
        print(
            f"{target:18} {number:7,} inputs  {spent:6.1f} s  {spent / max(number, 1) * 1000:6.2f} ms each", flush=True
        )
        for what in found:
            print(f"    {what!a}", flush=True)
        failed = failed or bool(found)
        done += number
    print(f"{done:,} inputs in {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
