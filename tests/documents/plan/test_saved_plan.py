"""A plan survives being saved."""

import copy
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kstream_plan.documents.plan.files import are_plans, is_plan_file, read_plan_file
from kstream_plan.documents.plan.read import SavedPlan, each_saved, read_plans, read_saved
from kstream_plan.documents.plan.write import plan_document, plan_json
from kstream_plan.errors import PlanFileError
from kstream_plan.model import Group, Partition, Rates, Snapshot
from kstream_plan.model.scenario import Leave, Scenario
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Plan, Promote
from kstream_plan.plans.replay import replay
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.simulation.one_plan import plan, plan_checked
from tests.helpers import plan_cases
from tests.helpers.random_groups import random_group
from tests.helpers.schemas import schema, validator
from tests.helpers.small_groups import group, state

SCHEMA = validator("plan")


def as_saved(plan: Plan) -> Plan:
    """The plan without what a saved one does not hold: racks of partitions, and changelog partitions."""
    group = plan.group
    tasks = [
        replace(
            task,
            source_partitions=tuple(
                Partition(topic, task.task_id.partition)
                for topic in dict.fromkeys(partition.topic for partition in task.source_partitions)
            ),
            changelog_partitions=(),
        )
        for task in group.tasks
    ]
    return replace(plan, group=Group(group.application_id, tuple(tasks), group.instances))


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_a_plan_comes_back_equal(name: str) -> None:
    plan = plan_cases.case(name)
    for full in (False, True):
        (loaded,) = read_plans(plan_json(plan, full=full).encode(), "a file")
        assert loaded == as_saved(plan)


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_the_json_is_what_the_schema_says(name: str) -> None:
    SCHEMA.validate(json.loads(plan_json(plan_cases.case(name), full=True)))


def test_the_schema_describes_every_step() -> None:
    steps = schema("plan")["$defs"]["step"]["oneOf"]
    assert all("Effect:" in step["description"] for step in steps)


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_replaying_the_steps_gives_every_rounds_outcome(name: str) -> None:
    plan = plan_cases.case(name)
    outcomes = list(replay(plan.group, plan.initial, [rnd.steps for rnd in plan.rounds]))
    assert [outcome.assignment for outcome in outcomes] == [rnd.assigned for rnd in plan.rounds]
    assert [outcome.decision for outcome in outcomes] == [rnd.decided for rnd in plan.rounds]


@pytest.mark.parametrize("protocol", ["eager", "mixed"])
def test_who_stops_everything_comes_back_and_0_1_0_left_it_to_the_protocol(protocol: str) -> None:
    made = plan(plan_cases.snapshot("scale-out"), protocol=protocol)
    document = json.loads(plan_json(made))
    assert (len(document["stopping"]) == len(made.group.consumer_ids)) == (protocol == "eager")
    for saved in (document, {name: value for name, value in document.items() if name != "stopping"}):
        [read] = read_plans(json.dumps(saved).encode(), "x")
        assert read == as_saved(made)
        assert len(read.pauses) == len(made.pauses) > 0


def test_keys_are_sorted_and_the_line_is_ascii() -> None:
    text = plan_json(plan_cases.case("evil-names"), full=True)
    assert text.isascii()
    assert "\n" not in text
    json.loads(
        text, object_pairs_hook=lambda pairs: [key for key, _ in pairs] == sorted(key for key, _ in pairs) or 1 / 0
    )


def test_a_plan_without_full_stays_small() -> None:
    plan = plan_cases.case("scale-out")
    assert "decided" not in plan_document(plan)["rounds"][0]  # type: ignore[index,operator,call-overload]
    assert len(plan_json(plan)) < 0.7 * len(plan_json(plan, full=True))


def test_several_plans_pretty_printed_or_one_a_line_are_all_read() -> None:
    plans = [plan_cases.case("settled"), plan_cases.case("scale-out")]
    lines = "".join(f"{plan_json(plan)}\n" for plan in plans)
    pretty = "\n\n".join(json.dumps(json.loads(line), indent=2) for line in lines.splitlines())
    assert read_plans(lines.encode(), "x") == read_plans(b"\xef\xbb\xbf" + pretty.encode(), "x")


def test_unknown_fields_are_ignored() -> None:
    document = _document("crash")
    document["news"] = 1
    document["rounds"][0]["steps"][0]["news"] = {}
    document["config"]["news"] = True
    assert read_plans(json.dumps(document).encode(), "x") == [as_saved(plan_cases.case("crash"))]


def _document(name: str = "scale-out") -> Any:
    return copy.deepcopy(json.loads(plan_json(plan_cases.case(name))))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format_version",), "2.0", r"^f, line 1: format_version is '2.0'; this version reads 1.x"),
        (("kind",), "snapshot", "not a saved plan"),
        (("rounds", 3, "at_ms"), "soon", r"rounds\[3\].at_ms is not a whole number"),
        (("rounds", 3, "at_ms"), True, r"rounds\[3\].at_ms is not a whole number"),
        (("rounds", 3, "number"), 1.0, r"rounds\[3\].number is not a whole number"),
        (("rounds", 3, "at_ms"), -1, r"rounds\[3\].at_ms is -1, below 0"),
        (("summary", "hops"), -10, r"summary.hops is -10, below 0"),
        (("summary", "moves"), "many", r"summary.moves is not a whole number"),
        (("tool",), {}, r"tool has no field 'name'"),
        (("rounds", 0, "steps", 5, "reason", "lag"), None, r"rounds\[0\].steps\[5\].reason.lag is missing"),
        (("tasks", 0, "topics", 0), 1, r"tasks\[0\].topics\[0\] is not text"),
        (("final",), [], r"final is not an object"),
        (("protocol",), "learner", r"protocol is 'learner', not one of cooperative, eager, mixed"),
        (("rounds", 0, "trigger"), "whim", r"rounds\[0\].trigger is 'whim', not one of manual, join"),
        (("rounds", 0, "steps", 5, "kind"), "jump", r"rounds\[0\].steps\[5\].kind is 'jump', not one of member-joined"),
        (("rounds", 0, "steps", 5, "task_id"), "x", r"rounds\[0\].steps do not fit .*: there is no task x"),
        (
            ("rounds", 0, "steps", 5, "task_id"),
            "9_9",
            r"rounds\[0\].steps do not fit .*: there is no task 9_9",
        ),
        (("rounds", 0, "steps"), [], r"rounds\[2\].steps do not fit what is held"),
        (("rounds",), [], r"final is not what the steps of the rounds lead to"),
        (("initial",), {}, r"initial does not name the instances and consumers"),
        (
            ("summary", "duration_is"),
            "guess",
            r"summary.duration_is is 'guess', not one of floor, probes, least, estimate",
        ),
        (("verdict", "kind"), "fine", r"verdict.kind is 'fine', not one of settled"),
        (("config", "max_warmup_replicas"), 0, r"config does not hold: max_warmup_replicas is 0"),
        (("tasks", 0, "task_id"), "0_1", r"tasks name something twice"),
        (("tasks", 0, "topics"), ["orders", "orders"], r"tasks\[0\].topics name a topic twice"),
        (("tasks",), None, r"tasks is missing"),
        (("instances", 0, "consumers", 0, "consumer_id"), 7, r"consumers\[0\].consumer_id is not text"),
        (("input", "captured_at"), "noon", r"input.captured_at is not right: 'noon' is not a time"),
        (("verdict", "tasks"), ["0_0", "9_9"], r"verdict.tasks\[1\] is '9_9', which is not among the tasks"),
        (("summary", "max_paused_task", "task_id"), "9_9", r"max_paused_task.task_id is '9_9', which is not among"),
        (("rounds", 0, "balance", "active"), [1], r"balance.active does not hold one number for each of 5 instances"),
        (("rounds", 0, "balance", "load_per_thread", 1), 10**400, r"load_per_thread\[1\] is too large a number"),
        (("rounds", 0, "at_ms"), 10**400, r"rounds\[0\].at_ms is too large a number"),
        (("summary", "restored_records"), float("nan"), r"not JSON: NaN is no number"),
        (("members", 0, "process_id"), "x", r"members\[0\].process_id is 'x', which is not among the instances"),
        (("members",), [], r"members do not name '.*', which holds tasks at the end"),
        (("stopping",), ["x"], r"stopping\[0\] is 'x', which is no consumer of the plan"),
        (("initial_balance", "active"), [1], r"initial_balance.active does not hold one number for each"),
    ],
)
def test_a_damaged_plan_is_refused_with_the_place(path: tuple[str | int, ...], value: object, message: str) -> None:
    document = part = _document()
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    with pytest.raises(PlanFileError, match=message) as caught:
        read_plans(json.dumps(document).encode(), "f")
    assert caught.value.fix


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "f: there is no plan"),
        (b" \n\n", "f: there is no plan"),
        (b"[]", "f, line 1: this is not a saved plan|is not an object"),
        (b"{", "f, line 1: not JSON"),
        (b"\n\nnope", "f, line 3: not JSON"),
        (b'{"kind": "plan", "kind": "plan"}', "f, line 1: not JSON: the name 'kind' is there twice in one object"),
        (b"[" * 100_000, "f, line 1: not JSON"),
        (b"\xff\xfe", "f: not UTF-8 text"),
    ],
)
def test_what_is_no_plan_at_all_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(PlanFileError, match=message):
        read_plans(data, "f")


def test_what_an_instance_holds_is_what_its_consumers_hold() -> None:
    document = _document()
    held = next(of for of in document["initial"].values() if of["active"])
    held["active"] = held["active"][1:]
    with pytest.raises(PlanFileError, match=r"initial\['.*'\].active is not what its consumers hold"):
        read_plans(json.dumps(document).encode(), "f")


def test_what_full_adds_is_what_the_steps_lead_to() -> None:
    document = json.loads(plan_json(plan_cases.case("scale-out"), full=True))
    document["rounds"][2]["assigned"] = document["initial"]
    with pytest.raises(PlanFileError, match=r"rounds\[2\].assigned is not what the steps lead to"):
        read_plans(json.dumps(document).encode(), "f")


def test_what_stands_beside_a_broken_document_is_read_still() -> None:
    good = plan_json(plan_cases.case("settled"))
    other = json.dumps(json.loads(good) | {"application_id": "other", "protocol": "learner"})
    pretty = json.dumps(json.loads(good), indent=2)
    data = f"{good}\n{good[:2000]}\n{other}\n\nnonsense\n{pretty}\n{pretty[:1000]}\n{good}\n".encode()
    found = list(each_saved(data, "f"))
    plan = as_saved(plan_cases.case("settled"))
    assert [of.plan for of in found if isinstance(of, SavedPlan)] == [plan] * 3
    errors = [of for of in found if isinstance(of, PlanFileError)]
    lines = [re.match(r"f, line (\d+)", error.where)[1] for error in errors]  # type: ignore[index]
    assert lines == ["2", "3", "5", str(6 + len(pretty.splitlines()))]
    assert [error.application_id for error in errors] == [None, "other", None, None]


def test_a_gzip_file_is_a_plan_file(tmp_path: Path) -> None:
    content = gzip.compress(plan_json(plan_cases.case("settled")).encode())
    path = tmp_path / "plan.json.gz"
    path.write_bytes(content)
    assert is_plan_file(path)
    assert are_plans(content)
    assert read_plan_file(path) == [as_saved(plan_cases.case("settled"))]
    path.write_bytes(content[:-20])
    with pytest.raises(PlanFileError, match=r"plan.json.gz: a damaged gzip file"):
        read_plan_file(path)


def test_a_truncated_file_is_refused_wherever_it_ends() -> None:
    line = plan_json(plan_cases.case("settled")).encode()
    for length in range(1, len(line), 97):
        with pytest.raises(PlanFileError):
            read_plans(line[:length], "f")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PlanFileError, match=r"gone.json: cannot read the file"):
        read_plan_file(tmp_path / "gone.json")


def test_a_path_may_be_text(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan_json(plan_cases.case("settled")))
    assert read_plan_file(str(path)) == read_plan_file(path)


def test_a_plan_without_stateful_tasks_is_read_again_whatever_rates_were_given() -> None:
    of = state(group(stateful=0, stateless=3), {}, {})
    made = plan(Snapshot(state=of, config=AssignmentConfig(), rates=Rates(produce_per_task=5.0)))
    [saved] = read_plans(plan_json(made).encode(), "plan")
    assert saved.rates == made.rates


def test_a_caught_up_copy_in_memory_that_another_thread_opens_is_lost_and_no_edit() -> None:
    """0_3 goes to the instance whose copy has caught up, and to another thread of it, which begins with nothing."""
    group = random_group(Random(203035))
    leave = Leave(at_ms=0, process_ids=(process_id_of(group.snapshot.state.group, group.busiest),))
    made = plan_checked(group.snapshot, group.options, scenario=Scenario(events=(leave,)))
    lost = [step for step in made.rounds[0].single_steps if isinstance(step, Promote) and not step.caught_up]
    assert [(str(step.task_id), step.reason.code.value, step.reason.lag) for step in lost] == [
        ("0_3", "target-caught-up", 0)
    ]
    [saved] = read_saved(plan_json(made).encode(), "x")
    assert saved.plan == made
