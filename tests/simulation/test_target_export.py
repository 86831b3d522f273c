"""What a target file is made of, and every reason for which none is."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from kstream_plan.assignors.planned.target_file import parse_target
from kstream_plan.documents.plan.files import read_plan_file
from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Group, Note, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Burst, Leave, ProduceRate, RestoreRate, Scenario, Threads
from kstream_plan.model.times import format_time
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import FigureRange, MemberJoined
from kstream_plan.plans.plan import ENDS_NOT_PLAYED
from kstream_plan.render.answers import to_json, to_markdown
from kstream_plan.render.pages.check_target import check_target_page
from kstream_plan.render.pages.export_target import export_target_page
from kstream_plan.render.text.numbers import utc
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from kstream_plan.simulation.target_check import check_target_file
from kstream_plan.simulation.target_export import (
    ExportRefusedError,
    ExportRequest,
    TargetExport,
    export_back,
    export_plan,
    export_stay,
)
from kstream_plan.snapshots.leader_log.history import checked_rows, read_leader_logs
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.random_groups import TAKEN_MS, random_group
from tests.helpers.schemas import validator
from tests.helpers.target_cases import FOLDER, SNAPSHOT_ROW, TARGET, joining, planned, snapshot, target

NOW_MS = snapshot().captured_at_ms + 5_000
REQUEST = ExportRequest(
    plan_id="dd8b679e4bea",
    match_by="tag:pod",
    now_ms=NOW_MS,
    expires_in_ms=3_600_000,
    probe_ms=5_000,
    max_snapshot_age_ms=600_000,
)


def answered(export):
    """Return the answer that an export is written with."""
    return TargetExport(application_id="K1c", path="t.properties", source="plan.json", export=export)


@pytest.mark.parametrize("name", ["K0d", "K1c"])
def test_the_file_is_the_one_that_a_real_group_followed(name):
    plan = read_plan_file(FOLDER.parent / name / "plan.json.gz")[0]
    now_ms = round(datetime.fromisoformat(plan.captured_at).timestamp() * 1000)
    made = export_plan(plan, replace(REQUEST, now_ms=now_ms), "plan.json")
    followed = parse_target((FOLDER.parent / name / "target.properties").read_bytes())
    # the other order is faster than the one that was followed in K1c
    assert replace(made.file, plan="", order=(), expires_ms=0) == replace(followed, plan="", order=(), expires_ms=0)
    assert sorted(made.file.order) == sorted(followed.order)
    assert made.is_grouped == (name == "K0d")
    assert made.simulated_plan.verdict.kind == "settled"
    assert made.simulated_plan.summary.moves == plan.summary.moves == 9


_MEM_ENDLESS = Path(__file__).parents[1] / "safe" / "mem-endless" / "before.json"


def test_a_plan_that_may_not_settle_is_not_exported():
    before = snapshot_from_row(json.loads(_MEM_ENDLESS.read_text()), "before.json")
    request = replace(REQUEST, match_by="process", new_by_elimination=True, now_ms=before.captured_at_ms)
    for stores, may_not in ((None, True), ("persistent", False)):
        known = replace(before, stores=stores)
        joins = with_random_ids(scale_out(known.state.group, add=1), known.state.group, 0)
        plan = plan_checked(known, scenario=joins)
        assert (plan.verdict.kind, plan.may_not_settle is not None) == ("settled", may_not)
        if may_not:
            with pytest.raises(ExportRefusedError, match=r"it may not settle. If stores are in memory.*--set stores"):
                export_plan(plan, request, "plan.json")
            back = export_back(plan, request, "plan.json")
            assert back.simulated_plan is None
        else:
            assert export_plan(plan, request, "plan.json").simulated_plan.verdict.kind == "settled"


def test_a_plan_whose_rates_leave_it_open_is_not_exported_either():
    plan = planned()
    ranges = (*plan.summary.ranges, FigureRange("settles", 0, 1))
    with pytest.raises(ExportRefusedError, match=r"it may not settle.*--restore-rate"):
        export_plan(replace(plan, summary=replace(plan.summary, ranges=ranges)), REQUEST, "plan.json")


def test_an_export_says_that_other_outcomes_were_not_simulated():
    note = Note(ENDS_NOT_PLAYED, "Other outcomes were not simulated")
    plan = planned()
    made = export_plan(replace(plan, warnings=(*plan.warnings, note)), REQUEST, "plan.json")
    assert note in made.remarks.warnings


def test_where_the_group_is_is_where_it_stays():
    made = export_stay(snapshot(), REQUEST, "orders.json")
    plan = plan_checked(snapshot(), assignor="planned", target=made.text.encode())
    assert plan.summary.moves == 0
    joined = plan_checked(snapshot(), scenario=joining(), assignor="planned", target=made.text.encode())
    followed = [rnd for rnd in joined.rounds if rnd.at_ms < REQUEST.expires_in_ms - 60_000]
    assert [rnd.follows.refusal for rnd in followed] == [None]
    assert {type(step) for rnd in followed for step in rnd.single_steps} == {MemberJoined}, "who joins gets nothing"
    check = check_target_file(made.text.encode(), snapshot(), NOW_MS)
    assert (check.refusal, check.moving, check.waiting, check.unseated) == (None, 0, 0, ())
    assert None not in dict(check.slots).values()


def test_slots_that_nobody_has_yet_are_named():
    check = check_target_file(TARGET, snapshot(), NOW_MS)
    assert [name for name, process_id in check.slots if process_id is None] == ["s2", "s5"]
    page = check_target_page(check)
    assert "Slots s2, s5 are empty: their tasks stay where they are until instances join." in page.sentences


@pytest.mark.parametrize(
    ("late_ms", "answer", "codes"), [(0, Answer.YES, []), (3_600_000, Answer.UNKNOWN, ["old-snapshot"])]
)
def test_that_a_file_counts_is_known_of_a_group_that_was_just_seen(late_ms, answer, codes):
    content = target(expires_ms=NOW_MS + 7_200_000)
    check = check_target_file(content, decided_by_the_class(), NOW_MS + late_ms)
    assert (check.answer, check.refusal, [doubt.code for doubt in check.doubts]) == (answer, None, codes)
    assert check_target_file(content, decided_by_the_class(), NOW_MS + 7_200_000).answer is Answer.NO
    before = check_target_file(content, decided_by_the_class(), NOW_MS)
    until = f"until {utc(format_time(before.expires_ms))}."
    assert (before.expires_ms, check_target_page(before).sentences[0][-len(until) :]) == (
        parse_target(content).expires_ms,
        until,
    )
    trusting = check_target_file(content, decided_by_the_class(), NOW_MS + late_ms, trust_ms=late_ms + 60_000)
    assert trusting.answer is Answer.YES


def test_a_file_counts_only_where_the_class_is_seen_and_not_before_the_snapshot():
    content = target(expires_ms=NOW_MS + 7_200_000)
    codes = [
        [doubt.code for doubt in check_target_file(content, each, NOW_MS).doubts] for each in (snapshot(), as_set())
    ]
    assert codes == [["class-unknown"], []]
    early = check_target_file(content, as_set(), NOW_MS - 600_000)
    assert (early.answer, [doubt.code for doubt in early.doubts]) == (Answer.UNKNOWN, ["now-before-snapshot"])


def as_set() -> Snapshot:
    """Return the group with the setting that names the class."""
    config = {**SNAPSHOT_ROW["config"], "task_assignor_class": "io.kstreamplan.PlanTaskAssignor"}
    return snapshot_from_row({**SNAPSHOT_ROW, "config": config}, "snapshot")


def decided_by_the_class() -> Snapshot:
    """Return the group whose last decision the class made, without a file."""
    return snapshot_from_row({**SNAPSHOT_ROW, "decision": {"without_plan": "no-file"}}, "snapshot")


def test_plans_by_target_files_go_by_the_class_that_is_set():
    snapshot = as_set()
    warned = [plan_checked(snapshot, assignor=name).warnings for name in ("high-availability", "planned")]
    assert ["follows-target-files" in [note.code for note in notes] for notes in warned] == [True, False]


def test_a_brake_keeps_what_was_decided_without_copies_that_warm_up():
    folder = FOLDER / "leader.log.gz"
    rows = [row for row in checked_rows(read_leader_logs([str(folder)]).entries) if row["decision"].get("plan")]
    for row in rows:
        known = snapshot_from_row({**row, "captured_at": row["decision"]["at"]}, "log")
        request = replace(REQUEST, now_ms=known.captured_at_ms, match_by="process")
        slots = parse_target(export_stay(known, request, "now.json").text.encode()).slots
        names = [str(task.task_id) for task in known.state.group.tasks]
        assert sorted(task for slot in slots for task in slot.active) == sorted(names)
        copies = [task for slot in slots for task in slot.standby]
        assert len(copies) == len(set(copies)) == 24


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"now_ms": NOW_MS - 3_600_000}, "its snapshot was taken later"),
        ({"expires_in_ms": 5_000}, "--set expires.in=5s ends before the first probe, after 5s"),
    ],
)
def test_times_that_contradict_each_other_are_refused(changes, reason):
    for export in (
        lambda request: export_plan(planned(), request, "plan.json"),
        lambda request: export_stay(snapshot(), request, "now.json"),
    ):
        with pytest.raises(ExportRefusedError, match=reason):
            export(replace(REQUEST, **changes))


def test_a_plan_by_a_file_has_as_many_standbys_as_the_file():
    without = snapshot_from_row(
        {**SNAPSHOT_ROW, "config": {**SNAPSHOT_ROW["config"], "num_standby_replicas": 0}}, "none"
    )
    assert plan_checked(without, assignor="planned", target=TARGET, scenario=joining()).verdict.kind == "settled"


def test_the_way_back_ends_where_the_plan_began():
    there = planned()
    back = export_back(there, replace(REQUEST, match_by="tag:pod"), "plan.json")
    assert [len(slot.active) for slot in back.file.slots] == [10, 10, 10, 0, 0]
    again = plan_checked(snapshot(), scenario=joining(), assignor="planned", target=back.text.encode())
    assert again.summary.moves == 0
    assert back.simulated_plan.verdict.kind == "settled"
    assert back.simulated_plan.summary.moves == there.summary.moves
    assert back.simulated_plan.summary.duration_ms > 0
    assert not back.simulated_plan.behind, "all standbys are caught up when the plan ends"
    assert "Simulated with it from the end of the plan" in " ".join(export_target_page(answered(back)).sentences)
    with pytest.raises(ExportRefusedError, match="twice the simulated time"):
        export_back(there, replace(REQUEST, expires_in_ms=15_000), "plan.json")


@pytest.mark.parametrize("kind", ["cut", "left"])
def test_why_the_way_back_is_not_simulated_is_said(kind):
    leave = Leave(at_ms=0, process_ids=(snapshot().state.group.instances[0].process_id,))
    plan = (
        plan_checked(snapshot(), scenario=joining(), max_rounds=2)
        if kind == "cut"
        else plan_checked(snapshot(), scenario=Scenario(events=(leave,)), assignor="balanced")
    )
    back = export_back(plan, replace(REQUEST, match_by="tag:pod"), "plan.json")
    assert back.simulated_plan is None
    reason = {"cut": "where the group is on the way", "left": "1 instance has left in the plan"}[kind]
    assert reason in " ".join(export_target_page(answered(back)).sentences)


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"match_by": "static"}, ["--by static does not name"]),
        ({"match_by": "host"}, ["for want of a known HOST:PORT (application.server): give"]),
        ({"match_by": "process"}, ["--by process does not name"]),
        ({"expires_in_ms": 60_000}, ["--set expires.in=1m is below 2m"]),
        (
            {"expires_in_ms": 90_000_000, "now_ms": NOW_MS + 700_000},
            ["is 11m45s old", "--set expires.in=25h is above 24h"],
        ),
        ({"match_by": "tag:zone", "expires_in_ms": 90_000_000}, ["does not name", "is above 24h"]),
    ],
)
def test_every_reason_is_named_at_once(changes, reasons):
    with pytest.raises(ExportRefusedError) as refused:
        export_plan(planned(), replace(REQUEST, **changes), "plan.json")
    assert refused.value.exit_code == 3
    for reason in reasons:
        assert reason in refused.value.what
    assert ("1. " in refused.value.what) == (len(reasons) > 1)


def test_who_joins_takes_the_slot_that_is_left():
    made = export_plan(planned(), replace(REQUEST, match_by="process", new_by_elimination=True), "plan.json")
    assert sorted(slot.match.partition(":")[0] for slot in made.file.slots) == ["new", "new", *["process"] * 3]
    [warning] = made.remarks.warnings
    assert (warning.code, warning.subjects) == ("ids-change", ("s1", "s2", "s3"))
    client = export_plan(planned(), replace(REQUEST, match_by="client", new_by_elimination=True), "plan.json")
    assert [note.code for note in client.remarks.warnings] == ["ids-change"]
    assert not export_plan(planned(), REQUEST, "plan.json").remarks.warnings


def test_what_would_tell_members_apart_is_named():
    with pytest.raises(ExportRefusedError, match=r"give --by tag:pod$"):
        export_plan(planned(), replace(REQUEST, match_by="process"), "plan.json")
    untagged = plan_checked(snapshot(), scenario=joining(tagged=False), assignor="balanced")
    with pytest.raises(ExportRefusedError, match=r"--by tag:pod does not name .*: give --by tag:pod --new"):
        export_plan(untagged, REQUEST, "plan.json")


def test_a_plan_that_does_not_settle_is_refused():
    stuck = plan_checked(snapshot(), scenario=joining(), max_rounds=2)
    with pytest.raises(ExportRefusedError, match="it does not settle: unfinished"):
        export_plan(stuck, REQUEST, "plan.json")


def test_settings_that_do_not_count_later_are_warned_of():
    read = snapshot()
    plan = plan_checked(
        replace(read, config=replace(read.config, balance_factor=2, rack_aware_assignment_strategy="min_traffic")),
        scenario=joining(),
        assignor="balanced",
    )
    made = export_plan(plan, REQUEST, "plan.json")
    assert [note.code for note in made.remarks.warnings] == ["racks-do-not-count", "balance-factor-does-not-count"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (TARGET, None),
        (target(application="other"), "application"),
        (target(expires_ms=NOW_MS // 1000 * 1000), "expired"),
        (target(slots=parse_target(TARGET).slots[:1]), "tasks"),
        (TARGET[:-3], "truncated"),
        (b"", "truncated"),
    ],
)
def test_whether_a_file_would_count(content, code):
    check = check_target_file(content, snapshot(), NOW_MS)
    assert (check.refusal, check.plan) == (code, "dd8b679e4bea" if code is None else None)
    assert code is None or not check.unseated


def test_a_plan_that_would_not_be_run_as_planned_is_refused():
    plan = planned()
    colder = replace(plan, summary=replace(plan.summary, cold_handovers=2))
    with pytest.raises(ExportRefusedError, match="2 tasks start cold in it"):
        export_plan(colder, REQUEST, "plan.json")
    with pytest.raises(ExportRefusedError, match="settings change or instances restart in it"):
        export_plan(replace(plan, later_configs=((2, plan.config),)), REQUEST, "plan.json")


def test_a_plan_in_which_one_leaves_after_others_joined_is_refused():
    leaver = snapshot().state.group.instances[0].process_id
    leave = Leave(at_ms=1_800_000, process_ids=(leaver,))
    plan = plan_checked(snapshot(), scenario=Scenario(events=(*joining().events, leave)), assignor="balanced")
    with pytest.raises(ExportRefusedError, match=r"rebalances are decided without the file \(more-members\)"):
        export_plan(plan, replace(REQUEST, expires_in_ms=20_000_000), "plan.json")


def test_a_group_of_a_release_without_own_assignors_is_refused_and_an_unknown_one_is_assumed():
    old = plan_checked(replace(snapshot(), streams_version="3.7.2"), scenario=joining(), assignor="balanced")
    for export in (
        lambda: export_plan(old, REQUEST, "plan.json"),
        lambda: export_back(old, REQUEST, "plan.json"),
        lambda: export_stay(replace(snapshot(), streams_version="3.7.2"), REQUEST, "now.json"),
    ):
        with pytest.raises(ExportRefusedError, match=r"Kafka Streams 3\.7\.2: .* its own assignor since 3\.8"):
            export()
    new = plan_checked(replace(snapshot(), streams_version="3.8.0"), scenario=joining(), assignor="balanced")
    assert [note.code for note in export_plan(new, REQUEST, "plan.json").remarks.assumptions] == []
    assert [note.code for note in export_plan(planned(), REQUEST, "plan.json").remarks.assumptions] == [
        "release-assumed"
    ]


def behind(records):
    """Return the group with standbys so far behind, as just reported."""
    read = snapshot()
    copies = tuple(
        tuple(copy if copy.active else copy._replace(lag=records, remaining=records) for copy in of_task)
        for of_task in read.state.copies
    )
    return replace(read, decision=None, state=replace(read.state, copies=copies))


def test_what_standbys_lack_at_first_is_in_the_simulation():
    for records in (0, 2_000):
        plan = plan_checked(behind(records), scenario=joining(), assignor="balanced")
        assert {copy.records for copy in plan.behind} == ({records} if records else set())
        [saved] = read_plans(plan_json(plan).encode(), "plan.json")
        assert saved.behind == plan.behind
        simulated = export_plan(saved, replace(REQUEST, expires_in_ms=80_000_000), "plan.json").simulated_plan
        assert sorted(simulated.behind) == sorted(plan.behind)


@pytest.mark.parametrize(
    ("event", "slower_ms"),
    [
        (RestoreRate(at_ms=1_000, per_second=200), 60_000),
        (ProduceRate(at_ms=1_000, per_second=700), 0),
    ],
)
def test_rates_that_change_later_are_in_the_simulation(event, slower_ms):
    scenario = Scenario(events=(*joining().events, event))
    long = replace(REQUEST, expires_in_ms=80_000_000)
    simulated = simulate(snapshot(), scenario, PlanOptions(assignor="balanced"))
    plain = export_plan(simulated.plan, long, "plan.json").simulated_plan
    changed = export_plan(simulated.plan, long, "plan.json", simulated).simulated_plan
    assert changed.summary.duration_ms >= plain.summary.duration_ms + slower_ms
    assert (changed.end.produce == plain.end.produce) == (not isinstance(event, ProduceRate))


def test_a_burst_is_in_the_simulation():
    scenario = Scenario(events=(*joining().events, Burst(at_ms=10_000, records=100_000)))
    simulated = simulate(snapshot(), scenario, PlanOptions(assignor="balanced"))
    exports = [export_plan(simulated.plan, REQUEST, "plan.json", each) for each in (None, simulated)]
    assert exports[0].simulated_plan.summary != exports[1].simulated_plan.summary


def test_a_file_by_which_tasks_start_cold_is_refused(monkeypatch):
    cold = replace(planned(), summary=replace(planned().summary, cold_handovers=1))
    monkeypatch.setattr("kstream_plan.simulation.target_export._simulate_file", lambda *_: cold)
    with pytest.raises(ExportRefusedError, match="simulated with it, 1 task starts cold"):
        export_plan(planned(), REQUEST, "plan.json")


def test_a_plan_of_a_snapshot_of_unknown_age_is_refused_with_what_mends_that():
    with pytest.raises(ExportRefusedError, match="is unknown: make the plan of one with captured_at"):
        export_plan(replace(planned(), captured_at=None), REQUEST, "plan.json")


def test_a_file_that_expires_before_the_longest_that_the_plan_may_take_is_refused(monkeypatch):
    likely_ms = export_plan(planned(), REQUEST, "plan.json").simulated_plan.summary.duration_ms
    ranges = (FigureRange("duration_ms", likely_ms, 3 * likely_ms),)
    long = replace(planned(), summary=replace(planned().summary, duration_ms=likely_ms, ranges=ranges))
    monkeypatch.setattr("kstream_plan.simulation.target_export._simulate_file", lambda *_: long)
    export_plan(planned(), replace(REQUEST, expires_in_ms=3 * likely_ms), "plan.json")
    with pytest.raises(ExportRefusedError, match="the longest that it may take"):
        export_plan(planned(), replace(REQUEST, expires_in_ms=3 * likely_ms - 1), "plan.json")


def test_a_file_that_expires_before_the_group_notices_who_left_is_refused():
    leaver = snapshot().state.group.instances[0].process_id
    scenario = Scenario(events=(Leave(at_ms=45_000, process_ids=(leaver,)),))
    plan = plan_checked(replace(snapshot(), decision=None), scenario=scenario, assignor="balanced")
    assert plan.rounds[0].at_ms == 45_000
    needed_ms = 2 * (45_000 + export_plan(plan, REQUEST, "plan.json").simulated_plan.summary.duration_ms)
    export_plan(plan, replace(REQUEST, expires_in_ms=needed_ms), "plan.json")
    with pytest.raises(ExportRefusedError, match="twice the simulated time and the 45s before it"):
        export_plan(plan, replace(REQUEST, expires_in_ms=needed_ms - 1), "plan.json")


def test_tasks_that_may_start_cold_are_warned_of():
    leaver = snapshot().state.group.instances[0].process_id
    scenario = Scenario(events=(Leave(at_ms=0, process_ids=(leaver,)),))
    seen = replace(snapshot(), decision=None)
    plan = plan_checked(seen, scenario=scenario, assignor="balanced", now_ms=seen.captured_at_ms + 3_600_000)
    tasks = tuple(dict.fromkeys(str(start.task_id) for start in plan.unproven_starts))
    assert tasks
    assert not plan.summary.cold_handovers
    notes = export_plan(plan, replace(REQUEST, now_ms=NOW_MS + 60_000), "plan.json").remarks.warnings
    assert [note.subjects for note in notes if note.code == "unproven-starts"] == [tasks]


def test_threads_that_change_are_refused():
    process_id = snapshot().state.group.instances[0].process_id
    scenario = Scenario(events=(*joining().events, Threads(at_ms=900_000, process_id=process_id, threads=1)))
    simulated = simulate(snapshot(), scenario, PlanOptions(assignor="balanced"))
    with pytest.raises(ExportRefusedError, match="an instance changes its number of threads"):
        export_plan(simulated.plan, REQUEST, "plan.json", simulated)


def test_an_unknown_restore_rate_is_warned_of_and_the_time_is_a_bound():
    plan = replace(planned(), rates=planned().rates._replace(**{planned().rates._fields[0]: None}))
    made = export_plan(plan, REQUEST, "plan.json")
    assert [note.code for note in made.remarks.warnings] == ["restore-rate-unknown"]
    assert any("settles in at least" in sentence for sentence in export_target_page(answered(made)).sentences)


def test_a_name_with_a_line_end_of_yaml_is_refused():
    group = snapshot().state.group
    odd = replace(group.instances[0], client_tags=(("pod", "a\u2028b"),))
    changed = Group(group.application_id, group.tasks, (odd, *group.instances[1:]))
    with pytest.raises(ExportRefusedError, match="has a line end"):
        export_stay(replace(snapshot(), state=replace(snapshot().state, group=changed)), REQUEST, "now.json")


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("export-target", lambda: answered(export_plan(planned(), REQUEST, "plan.json"))),
        ("export-target", lambda: answered(export_stay(snapshot(), REQUEST, "now.json"))),
        ("export-target", lambda: replace(answered(None), reasons=("it does not settle: stuck", "it is old"))),
        ("check-target", lambda: check_target_file(TARGET, snapshot(), NOW_MS, path="t.properties")),
        ("check-target", lambda: check_target_file(b"", snapshot(), NOW_MS, path="t.properties")),
    ],
)
def test_answers_are_json_by_their_schema(kind, make):
    answer = make()
    document = json.loads(to_json(answer))
    validator(kind).validate(document)
    assert (document["kind"], document["application_id"], document["path"]) == (kind, "K1c", "t.properties")
    assert document["answer"] == answer.answer.value
    assert to_markdown(answer).endswith("\n")


def test_a_release_without_own_assignors_is_a_doubt():
    old = replace(as_set(), streams_version="3.7.2")
    check = check_target_file(target(expires_ms=NOW_MS + 7_200_000), old, NOW_MS)
    assert (check.answer, [doubt.code for doubt in check.doubts]) == (Answer.UNKNOWN, ["release-too-old"])


@pytest.mark.parametrize(
    ("seed", "code"), [("tgt 116", "restores-within-limit"), ("tgt 119", "unproven-starts"), ("tgt 13", None)]
)
def test_a_file_warns_of_what_may_start_cold_in_another_outcome_and_of_what_restores_first(seed, code):
    given = random_group(random.Random(seed)).with_row(streams_version="4.3.1")
    made = plan_checked(given.snapshot, replace(given.options, now_ms=None))
    assert not made.unproven_starts
    request = replace(REQUEST, match_by="process", now_ms=TAKEN_MS + 1_000, expires_in_ms=86_400_000, probe_ms=60_000)
    codes = {note.code for note in export_plan(made, request, "plan.json").remarks.warnings}
    assert codes & {"restores-within-limit", "unproven-starts"} == ({code} if code else set())
