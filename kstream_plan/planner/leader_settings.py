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
class Lead:
    """The leader, and the settings of each member; a draft that goes through the events with the group.

    ``leader`` is a process id; ``None``: unknown. ``any_leads``: which member took the lead decides what
    settings count, and that is unknown. Settings are those of the group (``config``), or a member's own.
    """

    config: AssignmentConfig
    next_leader: NextLeader
    leader: str | None
    is_known: bool
    any_leads: bool = False
    _own_settings: dict[str, dict[str, SettingValue]] = field(default_factory=dict)
    _deciding: AssignmentConfig = field(init=False)

    def __post_init__(self) -> None:
        self._deciding = self.config

    def settings_of(self, process_id: str | None) -> AssignmentConfig:
        """Return those that a member has."""
        own_settings = self._own_settings.get(process_id or "", {})
        return replace(self.config, **own_settings) if own_settings else self.config  # type: ignore[arg-type]

    def renew(self, process_ids: Iterable[str], settings: Sequence[tuple[str, SettingValue]]) -> None:
        """Let these have such settings of their own from when they run again."""
        for process_id in process_ids if settings else ():
            self._own_settings[process_id] = self._own_settings.get(process_id, {}) | dict(settings)

    def all_renewed(self, settings: Sequence[tuple[str, SettingValue]]) -> None:
        """Let all have these settings, the leader as well."""
        self.config = replace(self.config, **dict(settings))  # type: ignore[arg-type]
        self._own_settings.clear()
        self._deciding = self.config

    def pass_on(self, members: Collection[str], leaver_ids: Collection[str]) -> tuple[tuple[str, SettingValue], ...]:
        """Let another of the members lead if the leader is among the leavers: the group takes any, which is unknown.

        Returns:
            The settings that change because of that.
        """
        restarted = [process_id for process_id in members if process_id in self._own_settings]
        not_restarted = [process_id for process_id in members if process_id not in self._own_settings]
        goes = self.leader in leaver_ids
        self.any_leads |= bool(restarted and not_restarted) and (goes or not self.is_known)
        if self.leader is None:  # who leads now is unknown, and so whether it has gone
            goes = bool(leaver_ids) if self.next_leader == "restarted" else not not_restarted
        if goes:
            first: Mapping[str, list[str]] = {"longest": [], "restarted": restarted, "others": not_restarted}
            self.leader = next(iter([*first[self.next_leader], *members]))
        previous_settings, self._deciding = self._deciding, self.settings_of(self.leader)
        values = ((setting.name, getattr(self._deciding, setting.name)) for setting in fields(self._deciding))
        return tuple((name, value) for name, value in values if value != getattr(previous_settings, name))
