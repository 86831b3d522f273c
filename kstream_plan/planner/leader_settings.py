"""The leader, whose settings count, while members come, go and are restarted with other settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeAlias

from kstream_plan.model.scenario import SettingValue
from kstream_plan.model.settings import AssignmentConfig

#: The next leader when the leader has gone: the longest member; or one that was restarted with new settings or surged,
#: so that these count as early as can be; or another one, so that they count late.
NextLeader: TypeAlias = Literal["longest", "restarted", "others"]


@dataclass(slots=True)
class LeaderSettings:
    """The leader, and the settings of each member; mutable, it goes through the events with the group.

    config: the settings of members without settings of their own.
    next_leader: who leads next, where that is unknown.
    leader: process id of the leader; ``None``: unknown.
    is_known: whether the leader at the beginning is known.
    is_next_leader_unknown: the settings depend on who leads next, and that is unknown.
    """

    config: AssignmentConfig
    next_leader: NextLeader
    leader: str | None
    is_known: bool
    is_next_leader_unknown: bool = False
    _own_settings: dict[str, dict[str, SettingValue]] = field(default_factory=dict)
    _deciding: AssignmentConfig = field(init=False)

    def __post_init__(self) -> None:
        self._deciding = self.config

    def settings_of(self, process_id: str | None) -> AssignmentConfig:
        """Return the settings of a member."""
        own_settings = self._own_settings.get(process_id or "", {})
        return replace(self.config, **own_settings) if own_settings else self.config  # type: ignore[arg-type]

    def restart_with(self, process_ids: Iterable[str], settings: Sequence[tuple[str, SettingValue]]) -> None:
        """Give instances that restart settings of their own."""
        for process_id in process_ids if settings else ():
            self._own_settings[process_id] = self._own_settings.get(process_id, {}) | dict(settings)

    def set_for_all(self, settings: Sequence[tuple[str, SettingValue]]) -> None:
        """Change the settings of all members, the leader as well."""
        self.config = replace(self.config, **dict(settings))  # type: ignore[arg-type]
        self._own_settings.clear()
        self._deciding = self.config

    def elect_next(self, members: Collection[str], leaver_ids: Collection[str]) -> tuple[tuple[str, SettingValue], ...]:
        """Elect another member if the leader is among the leavers: which one the group takes is unknown.

        Returns:
            The settings that change because of that.
        """
        restarted = [process_id for process_id in members if process_id in self._own_settings]
        not_restarted = [process_id for process_id in members if process_id not in self._own_settings]
        goes = self.leader in leaver_ids
        self.is_next_leader_unknown |= bool(restarted and not_restarted) and (goes or not self.is_known)
        if self.leader is None:  # who leads now is unknown, and so whether it has gone
            goes = bool(leaver_ids) if self.next_leader == "restarted" else not not_restarted
        if goes:
            first: Mapping[str, list[str]] = {"longest": [], "restarted": restarted, "others": not_restarted}
            self.leader = next(iter([*first[self.next_leader], *members]))
        previous_settings, self._deciding = self._deciding, self.settings_of(self.leader)
        values = ((setting.name, getattr(self._deciding, setting.name)) for setting in fields(self._deciding))
        return tuple((name, value) for name, value in values if value != getattr(previous_settings, name))
