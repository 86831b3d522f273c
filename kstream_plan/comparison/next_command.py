"""The command that goes on from alternatives beside each other."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from kstream_plan.comparison.alternatives import Change, SameOutcome, fastest
from kstream_plan.model import Note
from kstream_plan.model.settings import CONFIG_NAMES
from kstream_plan.plans.remarks import change_option

#: What is varied and has an option of its own; every other setting is one of ``--set``.
_OWN_OPTIONS = (
    "acceptable_recovery_lag",
    "max_warmup_replicas",
    "num_standby_replicas",
    "probing_rebalance_interval_ms",
)
_MAX_LEARNERS = "max_learners"


def next_command(outcomes: Sequence[SameOutcome]) -> Iterator[Note]:
    """Yield the command that shows the fastest alternative in full, else the first one if it keeps to the policy."""
    alternative = (fastest(outcomes) or outcomes)[0].alternative
    if alternative.keeps_policy is False:
        return
    changes, change = alternative.changes, change_option(alternative.plan)
    names = [change.name.replace(".", "_") for change in changes]
    if names == ["plan"]:
        if changes[0].value.isprintable():
            yield Note("in-full", f"kstream-plan show {shlex.quote(changes[0].value)}")
    elif change is not None and {*names} <= {*CONFIG_NAMES, "assignor", "design", "protocol", _MAX_LEARNERS}:
        words = " ".join(filter(None, (change_words(setting, changes) for setting in changes)))
        command = "simulate-scaleout" if change else "assign"
        yield Note("in-full", f"kstream-plan {command} SNAPSHOT{change} {words}")


def change_words(change: Change, changes: Sequence[Change]) -> str:
    """Return the option for a change; empty: the option of another change includes it."""
    name, values = change.name.replace(".", "_"), {setting.name: setting.value for setting in changes}
    design, learners = values.get("design", "learner"), values.get("max.learners")
    if name == _MAX_LEARNERS:
        return f"--design learner:max.learners={learners}" if design == "learner" else ""
    if name == "design":
        return "" if change.value == "learner" and learners is not None else f"--design {shlex.quote(change.value)}"
    if name in _OWN_OPTIONS:
        return f"--{name.removesuffix('_ms').replace('_', '-')} {shlex.quote(change.value)}"
    return f"--set {shlex.quote(f'{change.name}={change.value}')}"
