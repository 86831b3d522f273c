"""Who leads, and so whose settings count, while members come, go and are restarted with others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeAlias

from kstream_plan.model.scenario import SettingValue
from kstream_plan.model.settings import AssignmentConfig

#: Who leads when the leader has gone: who is a member longest, or one that was restarted with new settings or surged,
#: so that these count as early as can be, or one that was not, so that they count late.
NextLeader: TypeAlias = Literal["longest", "restarted", "others"]


@dataclass(slots=True)
class Lead:
    """The leader, and the settings of each member; a draft that goes through the events with the group.

    ``leader`` is a process id; ``None`` while nobody knows it. ``any_leads``: which member took the lead decides what
    settings count, and nobody knows it. Settings are those of the group (``config``), or a member's own.
    """

    config: AssignmentConfig
    next_leader: NextLeader
    leader: str | None
    known: bool
    any_leads: bool = False
    _own: dict[str, dict[str, SettingValue]] = field(default_factory=dict)
    _deciding: AssignmentConfig = field(init=False)

    def __post_init__(self) -> None:
        self._deciding = self.config

    def settings_of(self, process_id: str | None) -> AssignmentConfig:
        """Return those that a member has."""
        own = self._own.get(process_id or "", {})
        return replace(self.config, **own) if own else self.config  # type: ignore[arg-type]

    def renew(self, process_ids: Iterable[str], settings: Sequence[tuple[str, SettingValue]]) -> None:
        """Let these have such settings of their own from when they run again."""
        for process_id in process_ids if settings else ():
            self._own[process_id] = self._own.get(process_id, {}) | dict(settings)

    def all_renewed(self, settings: Sequence[tuple[str, SettingValue]]) -> None:
        """Let all have these settings, the leader as well."""
        self.config = replace(self.config, **dict(settings))  # type: ignore[arg-type]
        self._own.clear()
        self._deciding = self.config

    def pass_on(self, members: Collection[str], left: Collection[str]) -> tuple[tuple[str, SettingValue], ...]:
        """Let another of the members lead if the leader ``left``: the group takes any, which nobody can foretell.

        Returns:
            The settings that are others because of that.
        """
        restarted = [of for of in members if of in self._own]
        others = [of for of in members if of not in self._own]
        goes = self.leader in left
        self.any_leads |= bool(restarted and others) and (goes or not self.known)
        if self.leader is None:  # nobody knows who leads now, and so whether it has gone
            goes = bool(left) if self.next_leader == "restarted" else not others
        if goes:
            first: Mapping[str, list[str]] = {"longest": [], "restarted": restarted, "others": others}
            self.leader = next(iter([*first[self.next_leader], *members]))
        before, self._deciding = self._deciding, self.settings_of(self.leader)
        values = ((one.name, getattr(self._deciding, one.name)) for one in fields(self._deciding))
        return tuple((name, value) for name, value in values if value != getattr(before, name))
