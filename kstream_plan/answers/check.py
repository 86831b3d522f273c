"""What a check found, as JSON: it is put together of the JSON of each plan, which may be made where the plan is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

from kstream_plan.answers.document import (
    FORM,
    FORMAT_VERSION,
    GROUP,
    INPUT,
    VERSION,
    added,
    closed,
    dump,
    field,
    shape,
)
from kstream_plan.documents.codec import (
    COUNT,
    TEXT,
    WHOLE,
    Codec,
    Json,
    const,
    list_of,
    mapping_of,
    or_null,
    schema_of,
)
from kstream_plan.documents.plan.fields import LONGEST_PAUSE
from kstream_plan.documents.records import Field
from kstream_plan.model import Note
from kstream_plan.model.answer import Answer
from kstream_plan.plans import Plan
from kstream_plan.plans.longest_pause import longest_pause
from kstream_plan.policy.findings import CheckedPlan, Finding, Tally
from kstream_plan.policy.limits import LimitValue, Percent, Waiver
from kstream_plan.policy.rules import Kind, Offence
from kstream_plan.version import __version__


class Warned(NamedTuple):
    """A warning, and the application that it is about."""

    application_id: str
    note: Note


class WordedFinding(NamedTuple):
    """A finding in one sentence, and the options that would tell whether the rule is kept."""

    finding: Finding
    message: str
    settled_by: Sequence[str]


class WordedPlan(NamedTuple):
    """A plan, what is found of it in words, and the answer of a check in which warnings may count."""

    checkup: CheckedPlan
    answer: Answer
    warnings: Sequence[Warned]
    findings: Sequence[WordedFinding]
    next: Sequence[Note]


class PlanPart(NamedTuple):
    """The JSON of one plan, and what it warns of."""

    text: str
    warnings: Sequence[Warned]


class _Report(NamedTuple):
    """A check, and all its warnings."""

    tally: Tally
    warnings: Sequence[Warned]


def _measure(finding: Finding, value: int | None) -> Json:
    return bool(value) if finding.kind in (Kind.SWITCH, Kind.DIGEST) else value


def _limit(value: LimitValue | None) -> Json:
    if isinstance(value, Percent):
        return f"{value.value.normalize():f}%"
    if isinstance(value, tuple):
        return {item[0]: item[1] for item in value if isinstance(item, tuple)} or list(map(str, value))
    return value


def _config(finding: Finding) -> Json:
    settings = () if finding.cure is None else finding.cure.settings
    return {name: list(map(str, value)) if isinstance(value, tuple) else int(str(value)) for name, value in settings}


_MEASURED = shape("integer", "boolean", "null").described(
    "Milliseconds for a duration, else a count; true or false for must_settle and digests; null: unknown."
)
_LIMIT = shape("integer", "string", "boolean", "object", "array", "null")
FORM.add(
    Warned,
    FORM.view(
        Warned,
        ref="warning",
        application_id="The application.",
        code=field("note.code", "The rule, or the code of what the plan says."),
        message=field("note.message"),
        subjects=field("note.subjects", "Tasks or instances that it is about."),
    ),
)
_OFFENCE = FORM.view(
    Offence,
    measured=field("value", "What it comes to; null: unknown.", or_null(WHOLE)),
    round=field("round_number", "Number of the rebalance; null: none."),
    task_id="The task; null: none.",
    process_id="The instance; null: none.",
    note="What a task or rebalance alone does not say.",
)
_WAIVER = or_null(
    FORM.view(
        Waiver,
        application="The applications, as a glob.",
        until=field(lambda waiver: waiver.last_day.isoformat(), "Its last day.", shape("string", format="date")),
        reason="Why.",
    )
)
_BASELINE = FORM.view(
    Finding,
    measured=field(lambda finding: _measure(finding, finding.baseline_value), codec=_MEASURED),
    kept=field("kept_before", "Whether it keeps to the rule.", shape("boolean")),
)
_CURE = FORM.view(
    Finding,
    config=field(_config, "The settings.", shape("object")),
    measured=field(
        lambda finding: None if finding.cure is None else _measure(finding, finding.cure.value), codec=_MEASURED
    ),
    duration_ms=added(
        or_null(WHOLE), "How long the plan then takes; null: unknown, or nothing moves.", get="cure.lasts_ms"
    ),
    cold_handovers=added("Minimum and maximum of cold starts then.", get="cure.cold"),
)
_FINDING = FORM.view(
    WordedFinding,
    ref="finding",
    rule=field("finding.rule", "The rule, the guard's option, or the invariant."),
    level=field("finding.limit.level", "How much a violation counts."),
    status=field("finding.status", "What came out."),
    answer=added(
        "Whether the plan keeps to the rule, waived or not. no: what is proven or likely breaks it. unknown: the worst "
        "that is not ruled out does.",
        get="finding.answer",
    ),
    settled_by=added(
        "Options that would tell whether the rule is kept, where unknown starts, or whether it settles, decide that."
    ),
    likely=added(
        "Of max_duration without a known restore rate: the likely time is measured, which may be longer "
        "(require_restore_rate makes it unknown).",
        get="finding.likely",
    ),
    invariant=field("finding.invariant", "A broken invariant: a defect of kstream-plan, or a plan changed by hand."),
    measured=field(lambda worded: _measure(worded.finding, worded.finding.value), codec=_MEASURED),
    worst_of_draws=field(
        "finding.worst_of",
        "Number of random simulations: the measured value is that of the worst; the plan shows a better one.",
    ),
    between=field(
        "finding.value_range",
        "The measured value is the worse end of this range: it depends on something unknown; null: it does not.",
    ),
    figures=field(
        lambda worded: dict(worded.finding.figures),
        "What the measured value was found from; empty but for balance_factor: instance_balance and "
        "subtopology_balance, which it limits, and instances_per_subtopology, maximum minus minimum, which it does "
        "not.",
        mapping_of(COUNT),
    ),
    limit=field(
        lambda worded: _limit(worded.finding.limit.value),
        "A number (milliseconds for a duration), a percentage as text, true or false, counts by tag, or digests.",
        _LIMIT,
    ),
    allowed=field(
        lambda worded: _limit(worded.finding.allowed),
        "The limit with percent resolved; null: of an unknown total.",
        _LIMIT,
    ),
    reason=field("finding.limit.reason", "The reason for the rule, as the policy states it."),
    message="The violation in one sentence; empty if the rule is kept.",
    offences=field("finding.offences", "What is to blame, worst first; empty if the rule is kept.", list_of(_OFFENCE)),
    waiver=field("finding.waiver", "The waiver that is in force.", _WAIVER),
    expired_waiver=field("finding.expired", "The one that would have covered it.", _WAIVER),
    baseline=field(
        lambda worded: None if worded.finding.kept_before is None else worded.finding,
        "What the baseline comes to; null: there is none.",
        or_null(_BASELINE),
    ),
    cure=field(
        lambda worded: None if worded.finding.cure is None else worded.finding,
        "Settings with which a plan was made that keeps to the rule.",
        or_null(_CURE),
    ),
)


def _figure(name: str, description: str, codec: Codec[Any] = COUNT) -> Field:
    return field(lambda plan: plan.figure(name), description, codec)


_NULLABLE = or_null(COUNT)
_SUMMARY = FORM.view(
    Plan,
    duration_ms=field("summary.duration_ms"),
    duration_is=field("summary.duration_is"),
    rebalances=_figure("rebalances", "Number of rebalances."),
    moves=_figure("moves", "Stateful tasks that change owner."),
    cold_handovers=_figure("cold_handovers", "Cold starts."),
    max_paused_task_ms=_figure("max_paused_task_ms", "Longest pause of a task; null: pauses never end.", _NULLABLE),
    paused_tasks_at_once=_figure(
        "paused_tasks_at_once", "Tasks that are paused at the same time; null: pauses never end.", _NULLABLE
    ),
    longest_pause=added(LONGEST_PAUSE, get=longest_pause),
)
_PLAN = FORM.view(
    WordedPlan,
    ref="plan",
    application_id=field("checkup.application_id", "The application."),
    input=field("checkup.plan", "What the plan was made from.", INPUT),
    age_ms=field("checkup.age_ms", "Age of the snapshot; negative: ahead of the clock; null: unknown.", or_null(WHOLE)),
    draws=field(
        "checkup.draws.number",
        "Number of random simulations; the plan is one of them, the findings are of all; null: nothing is random.",
    ),
    answer=added("Whether the plan keeps to the policy; with --fail-on-warning, whether it does so without a warning."),
    warnings=added("What it warns of: rules whose level is warning, and what the plan says itself."),
    findings=list_of(_FINDING).described("Violations, worst first, then what is kept."),
    next=added(
        list_of(FORM.view(Note, code="Stable name of this kind of command.", message="The command.")),
        "Commands that answer the next questions.",
    ),
    caveats=added(
        list_of(FORM.view(Note, code="Stable name of this kind of caveat.", message="One sentence.")),
        "What rules that are kept do not show: what the snapshot does not contain, or what is wrong in it already. "
        "Empty: the findings are complete.",
        get="checkup.caveats",
    ),
    group=added(GROUP, "Members before and after, and tasks.", get="checkup.plan"),
    summary=added(_SUMMARY, "Figures of the plan, as its own document has them.", get="checkup.plan"),
)
_ERROR = FORM.view(
    tuple,
    application_id=field(itemgetter(0), "The application; null: unknown.", or_null(TEXT)),
    message=field(itemgetter(1), "What is wrong.", TEXT),
)
_TOOL = FORM.view(
    object,
    name=field(lambda _answer: "kstream-plan", "Name of the tool.", const("kstream-plan")),
    version=field(lambda _answer: __version__, "Its version.", TEXT),
)
_OPEN = replace(_TOOL, schema={**_TOOL.schema, "additionalProperties": True})
_REPORT = FORM.view(
    _Report,
    "What kstream-plan check found.",
    format_version=field(lambda _report: FORMAT_VERSION, "Major and minor version of this format.", VERSION),
    kind=Field(const("check"), "What this is."),
    tool=field("tally", "What made the answer.", _OPEN),
    checked_at=field(
        lambda report: report.tally.now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "When it was checked.",
        shape("string", format="date-time"),
    ),
    fail_on_warning=field("tally.fail_on_warning", "Whether a warning fails the check."),
    violated=field("tally.violated", "Whether the exit code is 3 (unless something could not be read: 1)."),
    answer=added(
        "Whether every plan keeps to the policy. unknown: what is unknown may break a rule, or something could not be "
        "checked.",
        get="tally.answer",
    ),
    warnings=added("All warnings, those of the plans first; with --fail-on-warning any of them fails the check."),
    plans=field(lambda _report: (), "The worst first.", list_of(_PLAN)),
    errors=field("tally.errors", "What could not be read or planned (--set keep.going=true).", list_of(_ERROR)),
)


class _CheckDocument:
    """The document of a check."""

    def schema(self) -> dict[str, Json]:
        """Return the JSON Schema; no object has other fields than those that are named."""
        schema: dict[str, Json] = closed(schema_of("check", "Check", _REPORT))
        return schema


CHECK = _CheckDocument()


def part_of(plan: WordedPlan) -> PlanPart:
    """Return the JSON of one plan."""
    return PlanPart(dump(_PLAN.to_json(plan)), plan.warnings)


def report_of(plans: Sequence[PlanPart], tally: Tally) -> str:
    """Return the document, one line of ASCII with its end; keys sorted."""
    warnings = [warning for plan in plans for warning in plan.warnings]
    document = _REPORT.to_json(_Report(tally, [*warnings, *(Warned(*warning) for warning in tally.warnings)]))
    head, tail = dump(document).split('"plans":[]')  # in a text its quotes would be escaped
    return f'{head}"plans":[{",".join(plan.text for plan in plans)}]{tail}\n'
