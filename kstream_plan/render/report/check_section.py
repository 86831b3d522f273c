"""What a check found as a page: every rule, kept or broken, and the plan that it was held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.model.answer import Answer
from kstream_plan.policy.findings import Check, CheckedPlan, Status, Tally
from kstream_plan.render.check.table import MARKS, check_counts
from kstream_plan.render.check.wording import all_figures, figures, heading, origin, sentence
from kstream_plan.render.report.markup import report_html
from kstream_plan.render.report.page import Labelled, Section, Settings, Table, TableRow, Tone
from kstream_plan.render.report.plan_section import plan_section
from kstream_plan.render.report.reports import MOST_SECTIONS, report_of
from kstream_plan.render.text.escape import TERMINAL
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import several

_TONES: dict[Status, Tone] = {Status.ERROR: "bad", Status.WARNING: "warn", Status.PASSED: "good"}
#: What each rule is about.
ABOUT = {
    "must_settle": "whether it comes to an end",
    "max_duration": "how long it takes",
    "max_rebalances": "how many rebalances it takes",
    "max_moves": "how many tasks move",
    "max_warmups": "how many copies are made to move tasks",
    "max_cold_handovers": "how many tasks start cold",
    "max_pause_per_task": "how long a task stands still in all",
    "max_pause_per_handover": "how long a task stands still at a time",
    "max_pause_in_all": "how long all tasks stand still together",
    "max_paused_tasks_at_once": "how many tasks stand still at once",
    "max_restored_records": "how much is restored",
    "max_peak_extra_copies": "how many more copies than wanted there are at once",
    "balance_factor": "how even the load is at the end",
    "min_standbys": "how many standbys each task has at the end",
    "distinct_tag_values": "over how many zones, racks or the like each task and its copies lie at the end",
    "require_restore_rate": "whether the rate of what is restored is known",
    "max_snapshot_age": "how old the snapshot is that this was made from",
    "require_generation": "which generation this was made from",
    "--max-snapshot-age": "how old the snapshot is that this was made from",
    "--require-generation": "which generation this was made from",
    "--expect-digest": "which input this was made from",
}
#: So many of the broken rules are told at once.
_MOST_TOLD = 4
_ANSWERS = {
    Status.ERROR: "It breaks the policy",
    Status.WARNING: "It keeps to the policy, with warnings",
    Status.PASSED: "It keeps to the policy",
}
_UNKNOWN = "Whether it keeps to the policy is unknown"


def check_html(check: Check) -> str:
    """Return what a check found as one page: what could not be checked, then the plans, the worst first."""
    return check_html_of(check.plans, check.tally)


def check_html_of(plans: Sequence[CheckedPlan], tally: Tally) -> str:
    """Return the same of the plans and the rest."""
    sections = [_unchecked(application_id, message) for application_id, message in tally.errors]
    number = len(sections) + len(plans)
    sections += [_checked(one, alone=number == 1) for one in plans[: max(0, MOST_SECTIONS - len(sections))]]
    overview = _overview(plans, tally) if number > 1 else None
    return report_html(report_of(sections, number, overview))


def _unchecked(application_id: str | None, message: str) -> Section:
    name = "an application" if application_id is None else TERMINAL.name(application_id)
    answer = Labelled("It could not be checked", TERMINAL.sentence(message))
    return Section(name, "", "bad", answer, (), ())


def _checked(checked: CheckedPlan, *, alone: bool) -> Section:
    """Return a plan as it is told without a check, below what the check found."""
    names = Names(checked.plan.group)
    plan = plan_section(SavedPlan(checked.plan), alone=alone)
    facts = plan.facts if plan.answer is None else (plan.answer, *plan.facts)
    return replace(
        plan,
        tone=_TONES[checked.worst],
        answer=Labelled(f"{checked.answer.word}. {_answer(checked)}", f"{heading(checked, names)}{_broken(checked)}"),
        facts=facts,
        blocks=(_findings(checked, names), _beside(checked, names), *plan.blocks),
    )


def _answer(checked: CheckedPlan) -> str:
    return _UNKNOWN if checked.answer is Answer.UNKNOWN else _ANSWERS[checked.worst]


def _broken(checked: CheckedPlan) -> str:
    """Return what the broken rules are about, the worst first, after a colon; empty if there is none."""
    rules = [finding.rule for status in (Status.ERROR, Status.WARNING) for finding in checked.of(status)]
    told = list(dict.fromkeys(ABOUT[rule] for rule in rules if rule in ABOUT))
    return f": {several(told, _MOST_TOLD)}" if told else ""


def _findings(checked: CheckedPlan, names: Names) -> Table:
    rows = [
        TableRow(
            (
                MARKS[finding.status],
                finding.status.value,
                names.escape(finding.rule),
                ABOUT.get(finding.rule, ""),
                sentence(finding, checked.plan, names),
            ),
            tone=_TONES.get(finding.status, "plain") if finding.status is not Status.PASSED else "good",
        )
        for finding in checked.findings
    ]
    return Table(
        "Rules", ("", "status", "rule", "what it is about", "what was found"), tuple(rows), note=all_figures(checked)
    )


def _beside(checked: CheckedPlan, names: Names) -> Settings:
    items = [Labelled("snapshot", origin(checked))]
    items += [] if checked.baseline is None else [Labelled("before", figures(checked.baseline))]
    items += [Labelled("the plan", names.escape(checked.source))] if checked.source else []
    return Settings("Checked", tuple(items))


def _overview(plans: Sequence[CheckedPlan], tally: Tally) -> Table:
    rows = [
        TableRow(("-", TERMINAL.name(application_id or "an application"), "could not be checked"), tone="bad")
        for application_id, _ in tally.errors
    ]
    for one in plans:
        cells = (one.answer.word, TERMINAL.name(one.application_id), heading(one, Names(one.plan.group)))
        rows.append(TableRow(cells, tone=_TONES[one.worst] if one.worst is not Status.PASSED else "plain"))
    return Table(check_counts(tally), ("", "application", "what was found"), tuple(rows), sortable=True)
