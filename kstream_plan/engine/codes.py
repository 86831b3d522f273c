"""Numbers with a meaning, in the columns of the engine."""

from __future__ import annotations

#: Instead of a lag, a time or a number of records: there is none, or it is unknown.
NONE = -9223372036854775808

#: Between an assignment and the rejoin of a consumer that revoked or had something withheld (0.01-0.7 s observed).
AT_ONCE_MS = 100
#: Between two polls of a copy's changelog (Kafka's ``poll.ms``).
POLL_DELAY_MS = 100
#: What is restored at a time: ``max.poll.records`` as Kafka Streams sets it.
POLL_RECORDS = 1000

#: What is longer ago, or later, than that, in milliseconds, counts as so far away.
FAR_MS = 1 << 61

#: The role of a consumer that has a copy, as a holding has them in order; of what is left over whether only just.
ACTIVE, STANDBY, WARMUP, TEMPORARY = range(4)
NO_ROLE, JUST_LOST = -1, -2

#: Whether a copy has caught up by the first decision: the time until then tells, it has, it has not.
BY_TIME, READY, UNREADY = range(3)
