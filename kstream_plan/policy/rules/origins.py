"""Rules about what a plan was made from: how old it is, and whether it is the state that is about to change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kstream_plan.model.not_modelled import NOT_MODELLED
from kstream_plan.model.times import duration
from kstream_plan.plans.targets import expiry_ms, idle_expiry, without_target
from kstream_plan.policy.limits import LimitValue
from kstream_plan.policy.rules.measuring import MeasuredPlan, Measurement, Offence, number


def snapshot_age(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure the time since the snapshot was taken; one from the future is as bad as an old one: the clocks differ."""
    assert subject.now is not None
    age_ms = age(subject.plan.captured_at, subject.now)
    if age_ms is None:
        return Measurement(None, (Offence(None, note="the snapshot does not say when it was taken"),), unknown=True)
    note = "ahead of the clock" if age_ms < 0 else "old"
    offences = (Offence(abs(age_ms), note=note),) if abs(age_ms) > number(limit) else ()
    return Measurement(abs(age_ms), offences)


def age(captured_at: str | None, now: datetime) -> int | None:
    """Return how many milliseconds before ``now`` a time in RFC 3339 is; ``None`` if it is none."""
    try:
        moment = datetime.fromisoformat(captured_at or "")
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (now - moment) // timedelta(milliseconds=1)


def modelled(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Tell whether the plan goes by all settings of the application that decide who runs what (1)."""
    messages = [note.message for note in subject.plan.warnings if note.code in NOT_MODELLED]
    return Measurement(int(not messages), tuple(Offence(0, note=message) for message in messages) if limit else ())


def follows_target(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Tell whether the plan's target file counts until nothing waits any more (1), however long that may take."""
    plan = subject.plan
    missed_rebalances, expires_ms, longest_ms = without_target(plan), expiry_ms(plan), plan.ends("duration_ms")[1]
    if missed_rebalances is not None:
        return Measurement(
            0, (Offence(0, missed_rebalances.numbers[0], note=missed_rebalances.message),) if limit else ()
        )
    if expires_ms is None or longest_ms <= expires_ms or idle_expiry(plan.rounds) is not None:
        return Measurement(1)
    note = f"the file counts for {duration(expires_ms)}, the plan may take {duration(longest_ms)} (--set expires.in)"
    return Measurement(0, (Offence(0, note=note),) if limit else (), unknown=bool(limit))


def generation(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Compare the generation that the plan starts from."""
    plan_generation = subject.plan.generation
    return Measurement(plan_generation, () if plan_generation == limit else (Offence(plan_generation),))


def digest(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Compare the fingerprint of the input, or of the snapshot alone, (its beginning) with those that are expected."""
    assert isinstance(limit, tuple)
    digests = (subject.plan.digest, subject.plan.snapshot_digest)
    fits = any(digest.startswith(str(expected_digest)) for digest in digests for expected_digest in limit)
    return Measurement(int(fits), () if fits else (Offence(0, note=subject.plan.digest),))
