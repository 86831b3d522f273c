"""Of how many copies the lag was measured, and when."""

from __future__ import annotations

from dataclasses import dataclass

from kstream_plan.model.times import duration

#: The code of the warning of copies that a history of lags saw come no closer, one of each instance.
COMES_NO_CLOSER = "comes-no-closer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Of how many copies the lag was measured, and of how many it was not.

    Copies are those that are assigned and those that were reported; an active counts only while it restores.
    ``measured`` of them were, of ``least`` only the least is known, ``joined`` have what their last join told and
    ``silent`` nothing. ``oldest_ms`` and ``newest_ms`` are the times of the measurements that have one, on the
    snapshot's clock.
    """

    measured: int
    least: int
    joined: int
    silent: int
    oldest_ms: int | None = None
    newest_ms: int | None = None

    def told(self, now_ms: int) -> str:
        """Say it in one line, ``now_ms`` on the snapshot's clock."""
        total = self.measured + self.least + self.joined + self.silent
        age = f" {self._when(now_ms)}" if self.oldest_ms is not None else ""
        parts = [f"{self.measured:,} of {total:,} copies measured{age if self.measured else ''}"]
        if self.least:
            parts.append(f"{self.least:,} with only a lower bound{'' if self.measured else age}")
        parts.append(f"{self.joined:,} as of the last join")
        if self.silent:
            parts.append(f"{self.silent:,} not reported yet")
        return ", ".join(parts)

    def _when(self, now_ms: int) -> str:
        ago_ms = now_ms - (self.oldest_ms or 0)
        return f"{duration(ago_ms)} ago" if ago_ms >= 0 else f"{duration(-ago_ms)} after the time that counts as now"
