"""Numbers with a meaning, in the columns of the engine."""

from __future__ import annotations

#: Instead of a lag, a time or a number of records: there is none, or it is unknown.
NONE = -9223372036854775808

#: The role of a consumer that has a copy, as a holding has them in order; of what is left over whether only just.
ACTIVE, STANDBY, WARMUP, TEMPORARY = range(4)
NO_ROLE, JUST_LOST = -1, -2
