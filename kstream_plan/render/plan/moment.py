"""Of which moment an answer is: when its snapshot was taken, and what counts as now where that is later.

It is told in the first line, whatever the width: hours later it may be wrong. How old that is depends on when one reads
it, so it is not told here: the same snapshot gives the same bytes (``check`` says it, by ``--today``).
"""

from __future__ import annotations

from kstream_plan.plans import Plan
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import generation


def of_generation(plan: Plan, names: Names) -> str:
    """Return ``generation 7, 2026-11-21 13:00:38Z``, where the plan begins later with ``, as of …``."""
    taken, now = _taken_and_now(plan, names)
    return ", ".join([generation(plan.generation), *([taken] if taken else []), *([f"as of {now}"] if now else [])])


def as_of(plan: Plan, names: Names) -> str:
    """Return ``as of 2026-11-21 13:00:38Z``, where the plan begins later ``of …, as of …``; empty: nobody knows."""
    taken, now = _taken_and_now(plan, names)
    return f"of {taken}, as of {now}" if now else f"as of {taken}" if taken else ""


def to_the_second(captured_at: str) -> str:
    """Return a time without its milliseconds, as people read it."""
    return f"{captured_at[:19].replace('T', ' ')}Z"


def _taken_and_now(plan: Plan, names: Names) -> tuple[str, str]:
    """Return when the snapshot was taken, and what counts as now if that is later; empty: not known, or not later."""
    if not plan.captured_at:
        return "", ""
    taken = to_the_second(plan.captured_at)
    begins_at = None if plan.end is None else plan.end.begins_at
    now = "" if begins_at is None else to_the_second(begins_at)
    return names.escape_message(taken), names.escape_message(now) if now > taken else ""
