"""What a check found, as annotations of a GitHub workflow: one command a line, worst first (ten a step are shown).

Escapes as in ``toCommandValue`` and ``escapeProperty`` of GitHub's own ``@actions/core``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from kstream_plan.policy.findings import CheckedPlan, Status, Tally, badness
from kstream_plan.render.check.wording import sentence
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.names import Names

_COMMANDS = {Status.ERROR: "error", Status.WARNING: "warning", Status.WAIVED: "notice", Status.NOT_APPLICABLE: "notice"}


class Annotations(NamedTuple):
    """What is said of one plan: each violation with what it stands by among all, and what rules do not say."""

    violations: tuple[tuple[tuple[int, bool, float, str, int], str], ...]
    caveats: tuple[str, ...]


def report_of(plans: Sequence[Annotations], tally: Tally) -> str:
    """Return an annotation per application that could not be checked, then per violation, then per caveat."""
    lines = [_command("error", application_id or "input", message) for application_id, message in tally.errors]
    violations = (violation for plan in plans for violation in plan.violations)
    lines += [line for _, line in sorted(violations, key=itemgetter(0))]
    lines += [line for plan in plans for line in plan.caveats]
    return "".join(f"{line}\n" for line in lines)


def part_of(checkup: CheckedPlan, _warnings_too: bool) -> Annotations:
    """Return what is said of one plan."""
    names = Names(checkup.plan.group)
    violations = []
    for finding in checkup.findings:
        if finding.status is not Status.PASSED:
            title = f"{finding.application_id}: {finding.rule}"
            line = _command(_COMMANDS[finding.status], title, sentence(finding, checkup.plan, names))
            violations.append((badness(finding), line))
    name = checkup.application_id
    caveats = (_command("notice", f"{name}: {caveat.code}", caveat.message) for caveat in checkup.caveats)
    return Annotations(tuple(violations), tuple(caveats))


def not_for_the_runner(text: str) -> str:
    """Return ``text`` so that a workflow's log shows it and the runner takes no command from it."""
    token = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"::stop-commands::{token}\n{text}::{token}::\n"


def _command(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    """No line end is in there any more; a colon pair cannot be escaped in a message, so it is written differently."""
    return printable(text).replace("%", "%25").replace("::", ":\\x3a")


def _property(text: str) -> str:
    return printable(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
