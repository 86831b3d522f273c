"""What a check found, as one JSON document, described by ``documents/schemas/check.json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.documents.codec import Json
from kstream_plan.model import Note
from kstream_plan.plans import Plan
from kstream_plan.policy.findings import CheckedPlan, Cure, Finding, Status, Tally
from kstream_plan.policy.limits import LimitValue, Percent, Waiver
from kstream_plan.policy.rules import Kind, Offence
from kstream_plan.render.check.wording import sentence, undecided_starts
from kstream_plan.render.json_document import dump, group_fields, input_fields, pick, plain
from kstream_plan.render.text.escape import TERMINAL
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.would_tell import settled_by
from kstream_plan.version import __version__

_FORMAT_VERSION = "1.0"


class PlanPart(NamedTuple):
    """The JSON of one plan, and what it warns of."""

    text: str
    warnings: list[Json]


def report_of(plans: Sequence[PlanPart], tally: Tally) -> str:
    """Return the document, one line of ASCII with its end; keys sorted."""
    warnings = [warning for plan in plans for warning in plan.warnings]
    document: dict[str, Json] = {
        "format_version": _FORMAT_VERSION,
        "kind": "check",
        "tool": {"name": "kstream-plan", "version": __version__},
        "checked_at": tally.now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        **pick(tally, "fail_on_warning", "violated", "answer"),
        "warnings": [*warnings, *(_warning(application_id, note) for application_id, note in tally.warnings)],
        "plans": [],
        "errors": [{"application_id": application_id, "message": message} for application_id, message in tally.errors],
    }
    head, tail = dump(document).split('"plans":[]')  # in a text its quotes would be escaped
    return f'{head}"plans":[{",".join(plan.text for plan in plans)}]{tail}\n'


def part_of(checkup: CheckedPlan, warnings_too: bool) -> PlanPart:
    """Return what is said of one plan, whose warnings fail the check or not."""
    plan = checkup.plan
    names = Names(plan.group, TERMINAL)
    of_rules = [
        Note(finding.rule, sentence(finding, plan, names), tuple(map(str, finding.tasks)))
        for finding in checkup.of(Status.WARNING)
    ]
    warnings = [_warning(checkup.application_id, note) for note in (*of_rules, *checkup.warnings)]
    document: dict[str, Json] = {
        **pick(checkup, "application_id", "age_ms"),
        "input": input_fields(plan, plan.digest),
        "group": group_fields(plan),
        "summary": _summary(plan),
        "draws": None if checkup.draws is None else checkup.draws.number,
        "answer": checkup.answered(warnings_too=warnings_too).value,
        "warnings": warnings,
        "findings": [_finding(finding, checkup, names) for finding in checkup.findings],
        "caveats": [pick(caveat, "code", "message") for caveat in checkup.caveats],
    }
    return PlanPart(dump(document), warnings)


def _summary(plan: Plan) -> Json:
    """Return the figures that are told of a plan whatever its policy limits."""
    names = ("rebalances", "moves", "cold_handovers", "max_paused_task_ms", "paused_tasks_at_once")
    figures: dict[str, Json] = {name: plan.figure(name) for name in names}
    return {"duration_ms": plan.summary.duration_ms, "duration_is": plan.summary.duration_is, **figures}


def _warning(application_id: str, note: Note) -> Json:
    return {"application_id": application_id, **plain(note)}


def _finding(finding: Finding, checkup: CheckedPlan, names: Names) -> Json:
    return {
        **pick(finding, "rule", "status", "answer", "likely", "invariant", "between"),
        "level": finding.limit.level.value,
        "measured": _measure(finding, finding.measured),
        "worst_of_draws": finding.worst_of,
        "figures": dict(finding.figures),
        "limit": _limit(finding.limit.value),
        "allowed": _limit(finding.allowed),
        "reason": finding.limit.reason,
        "message": "" if finding.status is Status.PASSED else sentence(finding, checkup.plan, names),
        "settled_by": settled_by(undecided_starts(finding, checkup.plan)),
        "offences": [_offence(offence) for offence in finding.offences],
        "waiver": _waiver(finding.waiver),
        "expired_waiver": _waiver(finding.expired),
        "baseline": None
        if finding.kept_before is None
        else {"measured": _measure(finding, finding.before), "kept": finding.kept_before},
        "cure": _cure(finding.cure, finding),
    }


def _measure(finding: Finding, value: int | None) -> Json:
    return bool(value) if finding.kind in (Kind.SWITCH, Kind.DIGEST) else value


def _limit(value: LimitValue | None) -> Json:
    if isinstance(value, Percent):
        return f"{value.value.normalize():f}%"
    if isinstance(value, tuple):
        return {item[0]: item[1] for item in value if isinstance(item, tuple)} or _texts(value)
    return value


def _texts(value: Sequence[object]) -> Json:
    return [str(item) for item in value]


def _offence(offence: Offence) -> Json:
    document = plain(offence)
    return {"round": document.pop("round_number"), **document}


def _waiver(waiver: Waiver | None) -> Json:
    if waiver is None:
        return None
    return {"application": waiver.application, "until": waiver.until.isoformat(), "reason": waiver.reason}


def _cure(cure: Cure | None, finding: Finding) -> Json:
    if cure is None:
        return None
    settings: dict[str, Json] = {
        name: _texts(value) if isinstance(value, tuple) else int(str(value)) for name, value in cure.settings
    }
    return {"config": settings, "measured": _measure(finding, cure.measured)}
