"""What a check found, as one JSON document, with the sentences of its findings."""

from __future__ import annotations

from kstream_plan.answers import check
from kstream_plan.answers.check import PlanPart, Warned, WordedFinding, WordedPlan
from kstream_plan.model.note import Command, Note, Remarks
from kstream_plan.policy.findings import CheckedPlan, Status
from kstream_plan.policy.next_command import next_command
from kstream_plan.render.check.wording import sentence, settled_by
from kstream_plan.render.text.names import Names

report_of = check.report_of


def part_of(checkup: CheckedPlan, warnings_too: bool, command: Command = str) -> PlanPart:
    """Return what is said of one plan, whose warnings fail the check or not; ``command`` completes its commands."""
    plan, names = checkup.plan, Names(checkup.plan.group)
    findings = [
        WordedFinding(
            finding,
            "" if finding.status is Status.PASSED else sentence(finding, plan, names),
            settled_by([finding], plan),
        )
        for finding in checkup.findings
    ]
    of_rules = [
        Note(worded.finding.rule, worded.message, tuple(map(str, worded.finding.tasks)))
        for worded in findings
        if worded.finding.status is Status.WARNING
    ]
    warnings = [Warned(checkup.application_id, note) for note in (*of_rules, *checkup.warnings)]
    commands = Remarks(next=tuple(next_command(checkup))).completed(command).next
    return check.part_of(
        WordedPlan(checkup, checkup.check_answer(warnings_too=warnings_too), warnings, findings, commands)
    )
