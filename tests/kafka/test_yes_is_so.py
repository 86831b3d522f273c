"""A real group with a slow instance and traffic is asked all the time: what is called safe is so, by what is restored.

Its copies fall behind and catch up again, and instances really stop. What was so at a moment Kafka's own account of the
copies tells, and after a stop what its tasks had to restore.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from kstream_plan.snapshots.spark.session import open_context
from tests.helpers.real_answers import Answer, Asker, Copies, Question, Restore, Traffic, restores
from tests.helpers.real_cluster import Application, Broker, until

pytestmark = pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")

KEYS = 200
PARTITIONS = 8
PROCESS_IDS = {
    "i1": "b8f1a7c2-5d31-4c8e-9a57-0d4be2c1f001",
    "i2": "0c93e5d4-12aa-4b6f-8f10-77a9c36e5002",
    "i3": "71d20b6e-9c44-4e0b-b3a8-1f5e8d92a003",
}
LIMIT = 200
SETTINGS = {
    "acceptable.recovery.lag": LIMIT,
    "max.warmup.replicas": 2,
    "num.standby.replicas": 1,
    "probing.rebalance.interval.ms": 60_000,  # the least that Kafka takes
    "num.stream.threads": 1,
    "auto.offset.reset": "earliest",
    "replication.factor": 1,
    "commit.interval.ms": 500,
    "statestore.cache.max.bytes": 0,  # what is counted is written at once
    "session.timeout.ms": 12_000,
    "heartbeat.interval.ms": 1_000,
}
SLOW, LEAVES, RETURNS = "i3", "i1", "i2"
#: Too little for its standbys while much is written, and enough for them while little is.
SLOWLY = {"restored.per.second": 150, "restore.consumer.max.poll.records": 10}
#: Records per second and partition.
LITTLE, MUCH = 10, 80
#: For so long a group that has settled was left alone.
CALM = timedelta(seconds=5)
#: Longer than the session time-out: what a stop lets begin has begun.
AFTERWARDS = timedelta(seconds=20)


class Stop(NamedTuple):
    """An instance stops, for so many times of asking (0: it returns at once; ``None``: for good)."""

    instance: str
    away: int | None


@dataclass(frozen=True, slots=True)
class Course:
    """What happens to a group.

    Attributes:
        times: how often it is asked.
        every: seconds from one time to the next.
        busy: after which times much is written.
        stops: what stops, right after being asked about once more, by time.
    """

    times: int
    every: float
    busy: Collection[int]
    stops: Mapping[int, Stop]


SHORT = Course(times=2, every=25, busy={0, 1}, stops={1: Stop(LEAVES, None)})
LONG = Course(
    times=31,  # ten minutes
    every=20,
    busy={time for time in range(31) if time % 6 in (4, 5)},
    stops={
        3: Stop(LEAVES, 1),  # everything has caught up
        11: Stop(RETURNS, 0),  # the slow instance is behind
        17: Stop(LEAVES, 2),
        25: Stop(RETURNS, 0),
        30: Stop(LEAVES, None),
    },
)


@dataclass(frozen=True, slots=True)
class Stopped:
    """An instance that was stopped, and what was answered right before."""

    stop: Stop
    at: datetime
    answers: Sequence[Answer]


@dataclass(slots=True)
class Seen:
    """What was answered and what happened."""

    answers: list[Answer] = field(default_factory=list)
    stopped: list[Stopped] = field(default_factory=list)
    copies: Copies = field(default_factory=lambda: Copies({}))
    restored: list[Restore] = field(default_factory=list)

    def restored_after(self, stopped: Stopped) -> list[Restore]:
        """What others restored; where an instance returned at once, it as well."""
        restored = [restore for restore in self.restored if stopped.at <= restore.at <= stopped.at + AFTERWARDS]
        return [restore for restore in restored if stopped.stop.away == 0 or restore.instance != stopped.stop.instance]


@pytest.fixture(
    scope="module",
    params=[pytest.param(SHORT, marks=pytest.mark.kafka), pytest.param(LONG, marks=pytest.mark.kafka_long)],
    ids=["short", "long"],
)
def seen(request: pytest.FixtureRequest, broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    course: Course = request.param
    folder = tmp_path_factory.mktemp("answers")
    application_id = f"asked-{course.times}-times"
    properties = folder / "app.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in SETTINGS.items()))
    home = folder / "application"
    home.mkdir()
    lags = {instance: home / f"{instance}.lags" for instance in PROCESS_IDS}
    own = {instance: {"lags.to": path, "leave.on.close": instance == LEAVES} for instance, path in lags.items()}
    own[SLOW].update(SLOWLY)
    with Application(broker, home, application_id, SETTINGS, own, with_metrics=True) as application:
        application.create_topics(orders=PARTITIONS, audit=3)
        broker.produce(f"{application_id}-orders", PARTITIONS, KEYS)
        for instance, process_id in PROCESS_IDS.items():
            application.start(instance, process_id)
        application.settled(instances=3)
        until(lambda: calm(Copies(lags), datetime.now(UTC) - CALM, datetime.now(UTC)), "all copies to catch up")
        asker = Asker(broker, application, folder, properties)
        writing = Traffic(broker, f"{application_id}-orders", PARTITIONS, LITTLE)
        # one Spark for all that is asked: to start one each time would take longer than there is
        with open_context(little_work=True), writing:
            seen = asked_and_stopped(application, asker, writing, course)
    seen.copies, seen.restored = Copies(lags), restores(application.logs)
    (folder / "seen.json").write_text(json.dumps(told(seen), indent=1, default=str))
    return seen


def asked_and_stopped(application: Application, asker: Asker, writing: Traffic, course: Course) -> Seen:
    seen, due = Seen(), time.monotonic()
    running, back = set(PROCESS_IDS), dict[str, int]()
    for turn in range(course.times):
        for instance in [instance for instance, then in back.items() if then == turn]:
            application.start(instance, PROCESS_IDS[instance])
            running.add(instance)
        time.sleep(max(0.0, due - time.monotonic()))
        due = max(due, time.monotonic()) + course.every  # what is late is not made up for
        seen.answers += asker.ask(questions(running), running)
        writing.rate = MUCH if turn in course.busy else LITTLE
        if (stop := course.stops.get(turn)) is not None:
            seen.stopped.append(stopped(application, asker, stop, running))
            if stop.away != 0:
                running.discard(stop.instance)
            if stop.away:
                back[stop.instance] = turn + stop.away
    time.sleep(AFTERWARDS.total_seconds())
    return seen


def stopped(application: Application, asker: Asker, stop: Stop, running: Collection[str]) -> Stopped:
    about = [question for question in questions(running) if question.instance == stop.instance]
    about = [question for question in about if (question.command == "bounce") == (stop.away == 0)]
    answers = asker.ask(about, running)
    at = datetime.now(UTC)
    application.stop(stop.instance)
    if stop.away == 0:
        application.start(stop.instance, PROCESS_IDS[stop.instance])
    return Stopped(stop, at, answers)


def calm(copies: Copies, began: datetime, ended: datetime) -> bool:
    return copies.within(LIMIT // 2, began, ended, PARTITIONS)


def questions(running: Collection[str]) -> list[Question]:
    """Whether each may leave, and whether each that closes as Kafka Streams does by default may restart."""
    ids = {instance: PROCESS_IDS[instance] for instance in sorted(running)}
    leave = [Question("drain", instance, process_id, ("--leave",)) for instance, process_id in ids.items()]
    restart = ("--restart", "5s")
    return leave + [Question("bounce", *each, restart) for each in ids.items() if each[0] != LEAVES]


def told(seen: Seen) -> Mapping[str, object]:
    """Everything that was seen, for people."""

    def line(answer: Answer) -> Mapping[str, object]:
        lags = seen.copies.least_lags(answer.question.instance, answer.began, answer.ended)
        fields = {
            "source": answer.source,
            "asked": " ".join(answer.question[:2]),
            "answer": answer.answer,
            "lags": lags,
        }
        return {**fields, "began": answer.began, "ended": answer.ended, "document": answer.document}

    counts = Counter(f"{answer.source} {answer.question.command} {answer.answer}" for answer in seen.answers)
    return {
        "counts": dict(sorted(counts.items())),
        "stops": [
            {
                "stop": str(each.stop),
                "at": each.at,
                "answers": [line(answer) for answer in each.answers],
                "restored": [restore._asdict() for restore in seen.restored_after(each)],
            }
            for each in seen.stopped
        ],
        "answers": [line(answer) for answer in seen.answers],
    }


def cold_elsewhere(seen: Seen, answer: Answer) -> dict[int, int | None]:
    """Return the tasks that would have started cold, by partition, with how far the best copy was behind."""
    lags = seen.copies.least_lags(answer.question.instance, answer.began, answer.ended)
    return {partition: lag for partition, lag in lags.items() if lag is None or lag > LIMIT}


def test_whoever_may_leave_has_copies_elsewhere_that_have_caught_up(seen: Seen) -> None:
    drains = [answer for answer in seen.answers if answer.question.command == "drain"]
    assert {answer.source for answer in drains} == {"log", "brokers", "metrics"}
    wrong = [
        (answer.source, answer.question.instance, answer.began, cold)
        for answer in drains
        if answer.answer == "yes" and (cold := cold_elsewhere(seen, answer))
    ]
    assert not wrong
    # the group was really asked while it was not safe
    assert any(cold_elsewhere(seen, answer) for answer in drains)


def test_after_a_yes_no_task_starts_cold(seen: Seen) -> None:
    """Between question and stop as much may have been restored, or written, as the end moved meanwhile."""
    for each in seen.stopped:
        restored = seen.restored_after(each)
        for answer in each.answers:
            allowed = {
                restore: LIMIT
                + seen.copies.end(restore.partition, each.at)
                - seen.copies.end(restore.partition, answer.began)
                for restore in restored
            }
            cold = [restore for restore, most in allowed.items() if restore.records > most]
            assert answer.answer != "yes" or not cold, (answer.source, answer.question, each.at, cold)


def test_metrics_say_yes_where_everything_has_caught_up(seen: Seen) -> None:
    of_metrics = [answer for answer in seen.answers if answer.source == "metrics"]
    clear = [answer for answer in of_metrics if calm(seen.copies, answer.began - CALM, answer.ended)]
    assert clear
    doubted = [answer for answer in clear if answer.answer != "yes" and not about_left_over_state(answer)]
    assert not [(answer.question, answer.began, answer.document) for answer in doubted]


def about_left_over_state(answer: Answer) -> bool:
    """Tell whether it is unknown only because of left-over state, of which no metrics tell."""
    facts = {unknown["fact"] for unknown in answer.document.get("unknown", ())}
    return answer.answer == "unknown" and facts == {"left-over-state"}
