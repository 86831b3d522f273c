"""The command that goes on from a plan that was held against a policy."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kstream_plan.model import Note
from kstream_plan.plans.remarks import change_option
from kstream_plan.policy.findings import CheckedPlan


def next_command(checkup: CheckedPlan) -> Iterator[Note]:
    """Yield the command that compares a setting that would help with the current one, or shows the plan in full."""
    plan, change = checkup.plan, change_option(checkup.plan)
    cures = (finding.cure for finding in checkup.findings if finding.cure is not None)
    settings = next((cure.settings for cure in cures if len(cure.settings) == 1), ())
    for name, value in settings if change is not None and not checkup.source else ():
        current = getattr(plan.config, name, None)
        if isinstance(value, int) and current is not None:
            values = f"{name.replace('_', '.')}={current},{value}"
            yield Note("other-settings", f"kstream-plan compare SNAPSHOT{change} --vary {values}")
            return
        if name == "rack_aware_assignment_tags" and isinstance(value, tuple):
            tags = shlex.quote(f"rack.aware.assignment.tags={','.join(value)}")
            command = "simulate-scaleout" if change else "assign"
            yield Note("other-settings", f"kstream-plan {command} SNAPSHOT{change} --set {tags}")
            return
    if checkup.source.isprintable() and checkup.source:
        yield Note("in-full", f"kstream-plan show {shlex.quote(checkup.source)}")
    elif change is not None:
        yield Note("in-full", f"kstream-plan {'simulate-scaleout' if change else 'assign'} SNAPSHOT{change}")
