"""Ways to make a group worse, or to know less of it: nothing may then look safer than before."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from kstream_plan.model import UNKNOWN
from tests.helpers.random_groups import Given, copied

#: A group, made worse in one way; ``None``: it cannot be.
Worsening: TypeAlias = Callable[[random.Random, Given], Given | None]
_HOUR = 3_600_000


def more_lag(rng: random.Random, given: Given) -> Given | None:
    """A copy is further behind than was reported."""
    report = _one(rng, given, lambda each: each.get("lag", 0) >= 0)
    if report is None:
        return None
    known = "lag" if "lag" in report else "offset"
    room = _whole(given, report) - report["lag"] if known == "lag" else report["offset"]
    if not room:
        return None
    more = min(room, rng.choice([1, 101, 10_001, room]))
    return _changed(given, report, **{known: report[known] + (more if known == "lag" else -more)})


def fewer_reports(rng: random.Random, given: Given) -> Given | None:
    """Nothing was reported of a copy."""
    report = _one(rng, given)
    return None if report is None else _still_measured(given, _changed(given, report, gone=True))


def older_reports(rng: random.Random, given: Given) -> Given | None:
    """A copy that was within the limit was so longer ago: one that was behind may have been restored since.

    Where a report has no time it says less of then than one of an hour ago, when that copy may have had everything.
    """
    report = _one(rng, given, lambda each: "reported_at" in each and _is_within(given, each))
    if report is None:
        return None
    older = datetime.fromisoformat(report["reported_at"]) - timedelta(hours=rng.choice([1, 25]))
    return _changed(given, report, reported_at=older.isoformat().replace("+00:00", "Z"))


def fewer_standbys(rng: random.Random, given: Given) -> Given | None:
    """A standby is not there; where a rate is given, no other copy of its instance may restore faster for that."""
    seats = [
        (instance, consumer, task_id)
        for instance in given.row["instances"]
        for consumer in instance["consumers"]
        for task_id in consumer["standby"]
        if given.restore is None or sum(len(other["standby"]) for other in instance["consumers"]) == 1
    ]
    if not seats:
        return None
    instance, consumer, task_id = rng.choice(seats)
    found = copied(given)
    for other in found.row["instances"]:
        for seat in other["consumers"]:
            if seat["consumer_id"] == consumer["consumer_id"]:
                seat["standby"].remove(task_id)
    gone = (instance["process_id"], task_id)
    lags = [each for each in found.row["lags"] if (each["process_id"], each["task_id"]) != gone]
    return _still_measured(given, found.with_row(lags=lags))


def fewer_standbys_wanted(rng: random.Random, given: Given) -> Given | None:
    """``num.standby.replicas`` is lower."""
    wanted = given.row["config"]["num_standby_replicas"]
    return _configured(given, num_standby_replicas=rng.randrange(wanted)) if wanted else None


def lower_limit(rng: random.Random, given: Given) -> Given | None:
    """``acceptable.recovery.lag`` is lower."""
    limit = given.row["config"]["acceptable_recovery_lag"]
    return _configured(given, acceptable_recovery_lag=rng.choice([0, limit // 2, limit - 1])) if limit else None


def slower_restore(rng: random.Random, given: Given) -> Given | None:
    """What is behind is restored more slowly."""
    return replace(given, restore=given.restore / rng.choice([2, 100])) if given.restore else None


def faster_produce(rng: random.Random, given: Given) -> Given | None:
    """More is written."""
    return None if given.produce is None else replace(given, produce=given.produce * 2 + rng.choice([1, 500]))


def restore_unknown(_rng: random.Random, given: Given) -> Given | None:
    """How fast copies are restored is unknown, and nothing is trusted instead of it."""
    return None if given.restore is None else replace(given, restore=None, trust_ms=0)


def produce_unknown(_rng: random.Random, given: Given) -> Given | None:
    """How much is written is unknown, and nothing is trusted instead of it."""
    return None if given.produce is None else replace(given, produce=None, trust_ms=0)


def offset_unknown(rng: random.Random, given: Given) -> Given | None:
    """The offset of a copy is unknown."""
    report = _one(rng, given, lambda each: each.get("lag") != UNKNOWN)
    if report is None:
        return None
    return _changed(given, report, lag=UNKNOWN, offset=None, end_offset=None)


def stores_unknown(_rng: random.Random, given: Given) -> Given | None:
    """Whether stores are on disks is unknown."""
    return given.with_row(stores=None) if given.row.get("stores") else None


def capture_time_unknown(_rng: random.Random, given: Given) -> Given | None:
    """When the snapshot was taken is unknown."""
    return given.with_row(captured_at=None) if given.row.get("captured_at") else None


def version_unknown(_rng: random.Random, given: Given) -> Given | None:
    """The release of Kafka Streams is unknown."""
    return given.with_row(streams_version=None) if given.row.get("streams_version") else None


def ages_unknown(_rng: random.Random, given: Given) -> Given | None:
    """How old left-over state is, is unknown."""
    return given.with_row(copies_since=None) if given.row.get("copies_since") else None


def end_offset_unknown(rng: random.Random, given: Given) -> Given | None:
    """How long a changelog is, is unknown; how far its copies are behind is as known as before.

    Where rates told how far they are behind by a moment, nothing is trusted instead of them.
    """
    found = copied(given)
    task = rng.choice([task for task in found.row["tasks"] if task["stateful"]])
    whole = task.pop("end_offset_sum")
    for report in found.row["lags"]:
        if report["task_id"] == task["task_id"] and "offset" in report:
            del report["end_offset"]
            report["lag"] = whole - report.pop("offset")
    return found if given.restore is None or given.produce is None else replace(found, trust_ms=0)


def only_a_lower_bound(rng: random.Random, given: Given) -> Given | None:
    """Of a copy only the least that it is behind is known; of an unknown offset nothing less is."""
    report = _one(rng, given, lambda each: each.get("source") != "metrics, at least" and each.get("lag") != UNKNOWN)
    return None if report is None else _changed(given, report, source="metrics, at least")


def not_measured(_rng: random.Random, given: Given) -> Given | None:
    """Measuring was asked for, and failed."""
    return None if given.row.get("measuring_failed") else given.with_row(measuring_failed=True)


def asked_later(rng: random.Random, given: Given) -> Given | None:
    """The question is of a later moment: nothing has been heard since."""
    if given.later_ms is None or given.restore is not None:
        return None
    return replace(given, later_ms=given.later_ms + rng.choice([1, 59_000, _HOUR]))


def less_trusted(_rng: random.Random, given: Given) -> Given | None:
    """Reports have to be younger to count."""
    return replace(given, trust_ms=given.trust_ms // 2) if given.trust_ms else None


WORSENINGS: tuple[Worsening, ...] = (
    more_lag,
    fewer_reports,
    older_reports,
    fewer_standbys,
    fewer_standbys_wanted,
    lower_limit,
    slower_restore,
    faster_produce,
    restore_unknown,
    produce_unknown,
    offset_unknown,
    stores_unknown,
    capture_time_unknown,
    version_unknown,
    ages_unknown,
    end_offset_unknown,
    only_a_lower_bound,
    not_measured,
    asked_later,
    less_trusted,
)


def _one(
    rng: random.Random, given: Given, fits: Callable[[dict[str, Any]], bool] = lambda _each: True
) -> dict[str, Any] | None:
    """Return one of the reports that fit; ``None``: none does."""
    reports = [report for report in given.row["lags"] if fits(report)]
    return rng.choice(reports) if reports else None


def _changed(given: Given, report: dict[str, Any], *, gone: bool = False, **changes: Any) -> Given:
    other = {name: value for name, value in {**report, **changes}.items() if value is not None}
    lags = [other if each is report else each for each in given.row["lags"] if each is not report or not gone]
    return given.with_row(lags=lags)


def _still_measured(before: Given, after: Given) -> Given:
    """Return what is left of a group after a report: where the last one that was measured has gone, measuring failed.

    Else it would look as if nobody had asked for it.
    """

    def any_measured(given: Given) -> bool:
        return any(report.get("source") for report in given.row["lags"])

    return after.with_row(measuring_failed=True) if any_measured(before) and not any_measured(after) else after


def _configured(given: Given, **changes: int) -> Given:
    return given.with_row(config={**given.row["config"], **changes})


def _whole(given: Given, report: dict[str, Any]) -> int:
    whole: int = next(task["end_offset_sum"] for task in given.row["tasks"] if task["task_id"] == report["task_id"])
    return whole


def _is_within(given: Given, report: dict[str, Any]) -> bool:
    lag: int = report["lag"] if "lag" in report else report["end_offset"] - report["offset"]
    return 0 <= lag <= given.row["config"]["acceptable_recovery_lag"]
