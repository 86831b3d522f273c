"""Findings in words: what is measured, what is allowed, what is to blame, and what would cure it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kstream_plan.model import WorkId
from kstream_plan.model.answer import Answer
from kstream_plan.model.connect_group import SAME_ADDRESS, WORKER_SILENT
from kstream_plan.model.not_modelled import NEWER_UNREAD, NOT_MODELLED, RELEASE_NOT_MODELLED
from kstream_plan.plans import MemberLeft, Plan, caught_up_evidence
from kstream_plan.plans.caught_up_evidence import Known, UnprovenStart
from kstream_plan.plans.cold_starts import cold_starts_of
from kstream_plan.plans.longest_pause import PAUSE_RULES, longest_pause
from kstream_plan.plans.plan import (
    ENDS_NOT_PLAYED,
    ENDS_NOT_SAVED,
    ENDS_OF_OTHERS_NOT_PLAYED,
    NOT_PLAYED,
    RATES_TELL,
)
from kstream_plan.plans.simulated import OverDraws, more_may_follow
from kstream_plan.policy.findings import CheckedPlan, Finding
from kstream_plan.policy.limits import ALWAYS, WITH_TARGET, LimitValue, Percent, TagCounts
from kstream_plan.policy.rules import RULES, Kind
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, duration_range, generation, name_list, span_to, utc

#: Rules whose figure grows with the rounds: to blame is what comes from a round on.
_ADDS_UP = ("max_duration", "max_pause_in_all", "max_rebalances", "max_moves", "max_warmups", "max_restored_records")
#: Rules whose figure may be worse for starts that are not proven to be warm.
_ABOUT_COLD_STARTS = ("max_cold_handovers", *PAUSE_RULES)
_WITH_NOTE = (*_ABOUT_COLD_STARTS, "max_snapshot_age", "--max-snapshot-age")
_OF_CONNECTORS = "max_connector_tasks_per_worker"
MOST_NAMED = 4
#: Kinds of rules whose figure is a sentence.
IN_WORDS = (Kind.SWITCH, Kind.GENERATION, Kind.DIGEST, Kind.TAGS)
#: Why a figure is unknown, in a few words, by what the plan says (the code of a warning or an assumption).
_WHY_UNKNOWN = {
    "group-not-as-told": "the group contradicts itself",
    "group-state-unknown": "whether the group is Stable is unknown",
    "no-epochs": "whether members follow the newest target is unknown",
    **dict.fromkeys(NOT_MODELLED, "a setting decides otherwise than the plan"),
    NEWER_UNREAD: "a later rebalance is not in the snapshot",
    RELEASE_NOT_MODELLED: "its release decides otherwise than the plan",
    "back-before-fenced": "more happens than is simulated",
    "group-not-ready": "the group is not ready",
    WORKER_SILENT: "a worker does not answer",
    SAME_ADDRESS: "one of the workers at one address may have gone",
    "delay-unknown": "whether a delay runs is unknown",
    "revocations-unknown": "what members have still to revoke is unknown",
    "not-dealt-out": "some work is unassigned",
    ENDS_NOT_PLAYED: "other outcomes were not simulated",
    ENDS_OF_OTHERS_NOT_PLAYED: "what is unknown was varied in one simulation only",
    ENDS_NOT_SAVED: "the ranges of this plan may have been removed since it was saved",
}
#: The same where nothing of that is said, by how the plan ends.
_GOES_ON = {
    "cyclic": "its rebalances repeat",
    "stuck": "it does not settle",
    "unfinished": "the plan stops before its end",
}
_DEFECT = "a defect of kstream-plan, not of your change: please report it with the plan"
_EDITED = "the plan was edited since kstream-plan saved it: save it again"


def origin(checkup: CheckedPlan) -> str:
    """Return what the plan was made from: ``generation 1, 2m old; plan begins …``."""
    generation_text = generation(checkup.plan.generation)
    if checkup.age_ms is None:
        return f"{generation_text}, of unknown age"
    age = duration(abs(checkup.age_ms) // 1000 * 1000)
    begins_at = None if checkup.plan.end is None else checkup.plan.end.begins_at
    begins = "" if begins_at is None else f"; plan begins {utc(begins_at)}"
    return f"{generation_text}, {age} {'old' if checkup.age_ms >= 0 else 'ahead of the clock'}{begins}"


def figures(plan: Plan, draws: OverDraws | None = None) -> str:
    """Return a plan in a few figures: ``about 11m, 20 moves, no cold starts``; for Connect what is unassigned."""
    summary = plan.summary
    if not plan.rounds:
        most = plan.ends("rebalances")[1]
        worst_case = f", or up to {count(most, 'rebalance')}, depending on what is unknown" if most else ""
        return f"a rebalance would change nothing{worst_case}"
    length = _length(plan, summary.duration_ms)
    if plan.is_of_workers:
        at_once, longest_ms = plan.ends("paused_tasks_at_once")[1], plan.ends("longest_pause_ms")[1]
        pauses = f"{at_once:,} unassigned at once, at most {duration(longest_ms)} each"
        return f"{length}, {count(summary.moves, 'move')}, {pauses}"
    least, most = plan.ends("cold_handovers")
    is_open = more_may_follow(plan, draws)
    cold = "no cold starts in this simulation" if is_open else "no cold starts"
    if most:
        cold = f"{span_to(least, most, is_open=is_open)} cold {'start' if most == 1 else 'starts'}"
    tasks = {plan.group.tasks[start.task].task_id for start in cold_starts_of(plan)} if most else set()
    tasks.update(start.task_id for start in plan.unproven_starts)
    if most == summary.cold_handovers + len(plan.unproven_starts):  # else another outcome has the most
        cold += f" of {count(len(tasks), 'task')}" * (0 < len(tasks) < most)
    parts = [length, f"{count(summary.moves, 'move')}{' in the end' * (summary.hops > summary.moves)}", cold]
    pause = longest_pause(plan)
    if pause.restores_ms and pause.most_ms is not None:
        parts.append(f"longest pause {duration_range(pause.ms, pause.least_ms, pause.most_ms)}")
    if plan.design == "streams" and most:
        runs_by_ms = summary.runs_by_ms
        parts.append(
            "all tasks run after " + ("an unknown time" if runs_by_ms is None else f"about {duration(runs_by_ms)}")
        )
    return ", ".join(parts)


def all_figures(checkup: CheckedPlan) -> str:
    """Return the figures of what was checked, with what they are of and what limits none of them."""
    draws = checkup.draws
    texts = figures(checkup.plan, draws)
    if draws is not None and draws.number == 1:
        texts += " (one random simulation of many)"
    elif draws is not None:
        worse = ", ".join(_at_worst(checkup.plan, draws))
        texts += f" (one of {count(draws.number, 'random simulation')}{f'; the worst: {worse}' if worse else ''})"
    limits_pauses = any(finding.rule.startswith(("max_pause_", "max_paused_")) for finding in checkup.findings)
    if checkup.plan.is_of_workers and len(checkup.plan.pauses) and not limits_pauses:
        texts += " (no rule limits that: max_pause_per_task would)"
    unknown = any(finding.value is None and finding.offences for finding in checkup.findings)
    caveat_texts = [caveat.message for caveat in checkup.caveats if not (unknown and caveat.code == "delay-unknown")]
    return texts + "".join(f" ({message})" for message in caveat_texts)


def _at_worst(plan: Plan, draws: OverDraws) -> Iterator[str]:
    """Yield the figures that are worse in other draws than in the plan that is shown."""
    streams = plan.design == "streams"
    shown_ms = plan.ends("runs_by_ms" if streams else "duration_ms")[1]
    by_ms = shown_ms if streams else max([shown_ms, *plan.in_effect_ms])
    units = {"max_moves": ("moves", "moves"), "max_cold_handovers": ("cold starts", "cold_handovers")}
    if plan.is_of_workers:
        units = {"max_moves": ("moves", "moves"), "max_paused_tasks_at_once": ("at once", "paused_tasks_at_once")}
    if draws.unsettled_draws:
        yield f"{draws.unsettled_draws:,} do not settle"
    if (worst_ms := draws.worst.get("max_duration")) is not None and worst_ms > by_ms:
        yield f"{'all tasks run after ' if streams else ''}about {duration(worst_ms)}"
    for rule, (unit, figure) in units.items():
        worst = draws.worst.get(rule)
        if worst is not None and worst > plan.ends(figure)[1]:
            yield f"{worst:,} {unit}"


def sentence(finding: Finding, plan: Plan, names: Names) -> str:
    """Return one finding: figures, who is to blame, waiver, cure."""
    if finding.invariant:
        first = finding.offences[0]
        place = "" if first.round_number is None else f" in rebalance {first.round_number}"
        return f"{names.escape_message(first.note)}{place}: {_EDITED if finding.was_saved else _DEFECT}"
    if not finding.applies:
        if RULES[finding.rule].of_workers:
            return "does not apply: it is about workers of Kafka Connect, so this was not checked"
        return "does not apply: connectors and tasks have no state, so this was not checked"
    if not finding.offences:
        return _kept_plan(finding, plan)
    parts = _circumstances(finding, plan, names)
    parts += [f"{text[0].lower()}{text[1:-1]}" for text in would_tell([finding], plan)]
    parts += [f"cure: {', '.join(cure(finding, plan))}"] if finding.cure else []
    figure = comparison(finding, plan, names)
    return f"{figure}: {'; '.join(parts)}" if parts else figure


def undecided_starts(finding: Finding, plan: Plan) -> tuple[UnprovenStart, ...]:
    """Return the starts that may be cold, where these make it unknown whether a rule is kept."""
    if finding.answer is not Answer.UNKNOWN or finding.rule not in _ABOUT_COLD_STARTS:
        return ()
    return tuple(start for start in plan.unproven_starts if start.evidence.known is Known.UNKNOWN)


def settled_by(findings: Iterable[Finding], plan: Plan) -> list[str]:
    """Return the options that would tell whether these rules are kept, where that is unknown."""
    findings = list(findings)
    starts = dict.fromkeys(start for finding in findings for start in undecided_starts(finding, plan))
    unknown = (finding for finding in findings if finding.answer is Answer.UNKNOWN)
    options = (option for finding in unknown for option in _tells_what_else(finding, plan))
    return list(dict.fromkeys([*caught_up_evidence.settled_by(starts), *options]))


def _tells_what_else(finding: Finding, plan: Plan) -> Sequence[str]:
    """Return the options that would simulate what was not, or tell whether a plan settles."""
    codes = {note.code for note in plan.warnings}
    if finding.value is None and codes.intersection((ENDS_NOT_PLAYED, ENDS_OF_OTHERS_NOT_PLAYED)):
        return ("--set ranges=true",)
    if finding.rule != ALWAYS:
        return ()
    if plan.unsettled_in_memory is not None:
        return caught_up_evidence.STORES_TELL
    return () if plan.may_not_settle is None else RATES_TELL


def would_tell(findings: Iterable[Finding], plan: Plan) -> list[str]:
    """Return the same as a sentence; none if no option would."""
    options = settled_by(findings, plan)
    return caught_up_evidence.to_find_out(options, RATES_TELL[0] if RATES_TELL[0] in options else "")


def cure(finding: Finding, plan: Plan) -> tuple[str, ...]:
    """Return the settings, with Kafka's names, what is measured then, and which other rules are still broken."""
    remedy = finding.cure
    if remedy is None:
        return ("no setting",)
    values = {
        name.replace("_", "."): ",".join(map(str, value)) if isinstance(value, tuple) else value
        for name, value in remedy.settings
    }
    settings = " ".join(f"{name}={value}" for name, value in values.items())
    figure = figure_text(finding, remedy.value, plan, says_likely=False)
    effects = [] if finding.kind is Kind.SWITCH else [f"then {figure}"]
    if remedy.lasts_ms is not None and finding.rule != "max_duration":
        verb = "settled in" if remedy.longer_ms is None else "but takes"
        effects.append(f"{verb} about {duration(remedy.lasts_ms)}")
    starts = f"{span_to(*remedy.cold)} cold start{'s' * (remedy.cold[1] > 1)}"
    is_same = plan.ends("cold_handovers") == remedy.cold
    effects += [f"which does not avoid the {starts}" if is_same else f"with {starts}"] * any(remedy.cold)
    broken_rules = [
        f"{rule.rule} ({figure_text(rule, rule.value, plan, says_likely=False)})" for rule in remedy.still_broken
    ]
    effects += [f"still broken: {name_list(broken_rules, 2)}"] if broken_rules else []
    return (settings, *effects)


def measure(kind: Kind, value: int | None) -> str:
    """Return a measured value as people read it."""
    if value is None:
        return "unknown"
    return duration(value) if kind is Kind.DURATION else f"{value:,}"


def comparison(finding: Finding, plan: Plan, names: Names) -> str:
    """Return what is measured beside the limit: ``30.1s, above the limit of 30s``."""
    match finding.kind:
        case Kind.SWITCH:
            return _switch(finding, plan, names)
        case Kind.GENERATION:
            return f"{generation(finding.value or 0)}, not {allowed(finding.allowed, finding)}"
        case Kind.DIGEST:
            return f"the plan's input has the digest {names.escape(plan.digest[:12])}, which is not expected"
        case Kind.TAGS:
            worst = finding.offences[0]
            if not worst.note:
                return "over which values of tags the copies end is unknown"
            tag, _, required_value = worst.note.rpartition(": ")
            amount = measure(finding.kind, worst.value)
            values = f"{amount} of {required_value} values of {names.escape(tag)}"
            return f"at the end, all copies in {values}{_of_draws(finding)}"
    sign = "below" if finding.at_least else "above"
    return f"{figure_text(finding, finding.value, plan)}, {sign} the limit of {allowed(finding.allowed, finding)}"


def _why_unknown(finding: Finding, plan: Plan) -> str:
    """Return why a figure is not known; empty if it is known, or the plan does not say."""
    if finding.value is not None or finding.rule not in RULES:
        return ""
    rule = RULES[finding.rule]
    return _reason(plan, (*rule.unknown_with, *NOT_PLAYED) if rule.figure else rule.unknown_with)


def _reason(plan: Plan, codes: Sequence[str]) -> str:
    """Return why something is unknown by what a plan says with one of these codes, or how it ends; empty if neither."""
    present = {note.code for note in (*plan.warnings, *plan.assumptions)}.intersection(codes)
    return next(
        (reason for code, reason in _WHY_UNKNOWN.items() if code in present), _GOES_ON.get(plan.verdict.kind, "")
    )


def _switch(finding: Finding, plan: Plan, names: Names) -> str:
    if finding.rule == "require_restore_rate":
        return "the rate of what is restored is unknown"
    if finding.rule in ("require_modelled", WITH_TARGET):
        return "; ".join(names.escape_message(offence.note) for offence in finding.offences)
    return _does_not_settle(finding, plan)


def _does_not_settle(finding: Finding, plan: Plan) -> str:
    if finding.value is None and not plan.tells_ends:
        return f"whether the plan always settles is unknown: {_reason(plan, NOT_PLAYED)}"
    if finding.value is None:
        return f"whether the plan settles is unknown: {_reason(plan, RULES['must_settle'].unknown_with)}"
    if finding.worst_of is not None:
        return f"not all of {finding.worst_of:,} random simulations settle"
    if finding.value_range is not None:
        return "the plan may not settle: that depends on what is unknown"
    return f"the plan does not settle ({plan.verdict.kind})"


def _of_draws(finding: Finding) -> str:
    draws = "" if finding.worst_of is None else f", the worst of {finding.worst_of:,} random simulations"
    if finding.value_range is None:
        return draws
    low, high = (measure(finding.kind, end) for end in finding.value_range)
    return f"{draws}, the worst end of what is unknown ({low} to {high})"


def allowed(value: LimitValue | None, finding: Finding) -> str:
    """Return a limit as people read it; percent with what they come to."""
    limit = finding.limit.value
    share = f"{limit.value.normalize():f}%" if isinstance(limit, Percent) else ""
    if value is None:
        return f"{share} of unknown"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{measure(finding.kind, value)}{f' ({share})' if share else ''}"
    if finding.kind is Kind.TAGS:
        pairs: TagCounts = value  # type: ignore[assignment]
        return ", ".join(f"{tag}: {least:,}" for tag, least in pairs)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _kept_plan(finding: Finding, plan: Plan) -> str:
    if finding.kind in (Kind.SWITCH, Kind.DIGEST):
        return "kept"
    sign = "as required" if finding.kind is Kind.GENERATION else "at least" if finding.at_least else "within"
    detail = f": {_figures(finding)}" if finding.figures else ""
    figure = figure_text(finding, finding.value, plan)
    return f"{figure}, {sign} {allowed(finding.allowed, finding)}{detail}{_of_draws(finding)}"


def _figures(finding: Finding) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in finding.figures)


def _who_runs_what(finding: Finding, names: Names) -> str:
    ids = [offence.process_id for offence in finding.offences]
    workers = [f"{names.instance(process_id)} " if process_id else "" for process_id in ids]
    notes = [names.escape_message(offence.note) for offence in finding.offences]
    return name_list(list(map(str.__add__, workers, notes)), MOST_NAMED)


def place_text(finding: Finding, plan: Plan, names: Names) -> str:
    """Return where a rule is broken: tasks, the rebalance, why a figure is unknown, the waiver."""
    if not finding.offences:
        return _of_draws(finding).removeprefix(", ")
    return "; ".join(_circumstances(finding, plan, names))


def _circumstances(finding: Finding, plan: Plan, names: Names) -> list[str]:
    """Return what is to be said of a broken rule beside its figure."""
    worst, parts = finding.offences[0], list[str]()
    if finding.rule == "balance_factor" and finding.figures:
        parts += [_figures(finding), _who_runs_what(finding, names)]
    elif finding.rule == _OF_CONNECTORS and worst.note:
        parts.append(_who_runs_what(finding, names))
    elif finding.tasks:
        parts.append(f"{'' if finding.worst_of is None else 'likely '}{_tasks(finding.tasks, names)}")
    parts += [worst.note] if finding.rule in _WITH_NOTE and worst.note not in ("", "old") else []
    if worst.round_number is not None:
        word = "from" if finding.rule in _ADDS_UP else "the last in" if finding.rule == "max_pause_per_task" else "in"
        parts.append(f"{word} rebalance {worst.round_number:,}")
    if finding.kind not in IN_WORDS:
        parts += filter(None, [_why_unknown(finding, plan), _of_draws(finding).removeprefix(", ")])
    parts += [f"reason: {names.escape_message(finding.limit.reason)}"] if finding.limit.reason else []
    if finding.waiver is not None:
        parts.append(f"waived until {finding.waiver.last_day}: {names.escape_message(finding.waiver.reason)}")
    elif finding.expired is not None:
        parts.append(
            f"the waiver ran out on {finding.expired.last_day}: {names.escape_message(finding.expired.reason)}"
        )
    parts += (
        [f"before: {figure_text(finding, finding.baseline_value, plan)}"] if finding.kept_before is not None else []
    )
    return parts


def figure_text(finding: Finding, value: int | None, plan: Plan, *, says_likely: bool = True) -> str:
    """Return what a rule measures; a duration without a restore rate is the likely one, and may say so."""
    if finding.rule == "max_duration" and value:
        return _length(plan, value) if says_likely else f"about {duration(value)}"
    return measure(finding.kind, value)


def _length(plan: Plan, milliseconds: int) -> str:
    if not milliseconds:
        return "at once"
    no_rate = "" if plan.summary.duration_is == "estimate" else " (likely; the restore rate is unknown)"
    return f"about {duration(milliseconds)}{no_rate}"


def _tasks(tasks: tuple[WorkId, ...], names: Names) -> str:
    task_names = [names.task(task_id) for task_id in tasks]
    if len(tasks) <= MOST_NAMED and len({task_id.group for task_id in tasks}) == 1:
        task_names[-1] = names.task_and_topic(tasks[-1])
    return name_list(task_names, MOST_NAMED - 1)


def members_text(plan: Plan) -> str:
    """Return how many members there are before and after: ``3 → 5 instances``; else who leaves and comes back."""
    first_count, last_count = len(plan.first_members), len(plan.members)
    is_changed = {*plan.first_members} != {process_id for process_id, _ in plan.members}
    members = count(last_count, "worker" if plan.is_of_workers else "instance")
    if is_changed:
        return f"{first_count:,} → {members}"
    steps = (step for rnd in plan.rounds for step in rnd.member_steps)
    leavers = list(dict.fromkeys(step.process_id for step in steps if isinstance(step, MemberLeft)))
    verbs = "leaves and returns" if len(leavers) == 1 else "leave and return"
    return f"{members}; {name_list(Names(plan.group).instances(leavers))} {verbs}" if leavers else members
