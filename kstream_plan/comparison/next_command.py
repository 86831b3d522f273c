"""The command that goes on from alternatives beside each other."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from kstream_plan.comparison.alternatives import SameOutcome, fastest
from kstream_plan.model import Note
from kstream_plan.model.settings import CONFIG_NAMES
from kstream_plan.plans.remarks import change_option

#: What is varied beside settings, and is an option of its own.
_OPTIONS = ("assignor", "protocol", "design", "max_learners")


def next_command(alike: Sequence[SameOutcome]) -> Iterator[Note]:
    """Yield the command that shows the fastest alternative in full; the first one, if none is, and it may be taken."""
    alternative = (fastest(alike) or alike)[0].one
    if alternative.kept is False:
        return
    changes, change = alternative.changes, change_option(alternative.plan)
    names = [change.name.replace(".", "_") for change in changes]
    if names == ["plan"]:
        if changes[0].value.isprintable():
            yield Note("in-full", f"kstream-plan show {shlex.quote(changes[0].value)}")
    elif change is not None and {*names} <= {*CONFIG_NAMES, *_OPTIONS}:
        options = (f"--{name.removesuffix('_ms').replace('_', '-')}" for name in names)
        words = " ".join(f"{option} {change.value}" for option, change in zip(options, changes, strict=True))
        command = "simulate-scaleout" if change else "assign"
        yield Note("in-full", f"kstream-plan {command} SNAPSHOT{change} {words}")
