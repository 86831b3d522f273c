"""What a check found, as annotations of a GitHub workflow: one command a line, worst first (ten a step are shown).

Escapes as in ``toCommandValue`` and ``escapeProperty`` of GitHub's own ``@actions/core``.
"""

from __future__ import annotations

import hashlib

from kstream_plan.policy.findings import Check, Status
from kstream_plan.render.check.wording import sentence
from kstream_plan.render.text.escape import TERMINAL, printable
from kstream_plan.render.text.names import Names

_COMMANDS = {Status.ERROR: "error", Status.WARNING: "warning", Status.WAIVED: "notice", Status.NOT_APPLICABLE: "notice"}


def github_report(check: Check) -> str:
    """Return an annotation per application that could not be checked, then per violation, then per caveat."""
    names = {id(checked.plan): Names(checked.plan.group, TERMINAL) for checked in check.plans}
    lines = [_command("error", application_id or "input", message) for application_id, message in check.errors]
    found = [(finding, checked.plan) for checked in check.plans for finding in checked.findings]
    order = {id(finding): place for place, finding in enumerate(check.findings)}
    for finding, plan in sorted(found, key=lambda pair: order[id(pair[0])]):
        if finding.status is not Status.PASSED:
            title = f"{finding.application_id}: {finding.rule}"
            lines.append(_command(_COMMANDS[finding.status], title, sentence(finding, plan, names[id(plan)])))
    for checked in check.plans:
        lines += [_command("notice", f"{checked.application_id}: {of.code}", of.message) for of in checked.caveats]
    return "".join(f"{line}\n" for line in lines)


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
