"""A target file: where every task is to be, read and refused as the class in the application does at its leader's time.

Source: page ``target-file``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from kstream_plan.model.target_refusals import REFUSALS

#: A larger file does not count.
MAX_BYTES = 1_048_576
MAX_WARMUPS = 10_000
PROBE_RANGE_MS = (5_000, 86_400_000)

_KEY = re.compile(r"[a-z0-9.-]+")
_NAME = re.compile(r"[a-z0-9-]{1,40}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_TASK = re.compile(r"(?:0|[1-9][0-9]{0,8})_(?:0|[1-9][0-9]{0,8})")
_PLAN = re.compile(r"[0-9a-f]{12,64}")
_EXPIRES = re.compile(r"2[0-9]{3}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z")
_MATCH = re.compile(r"new|(?:process|client|static):.+|host:.+:[0-9]+|tag:[^=]+=.*", re.DOTALL)
_GENERAL_KEYS = ("format", "plan", "application", "expires", "extra", "warmups", "probe.ms", "order", "slots")
_END = "end"


class TargetRefused(Exception):  # noqa: N818 - it is refused, not an error: the group is decided without it
    """A target file does not count; ``code`` is one of :data:`REFUSALS`."""

    def __init__(self, code: str) -> None:
        super().__init__(f"{code}: {REFUSALS[code].reason}")
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """What one instance is to hold.

    ``match`` says which instance it is meant for; ``active`` and ``standby`` are task ids as text.
    """

    name: str
    match: str
    active: tuple[str, ...]
    standby: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFile:
    """A target file whose values are all well-formed.

    ``plan`` is the digest of the plan that it was made from, ``expires_ms`` the epoch time from which on it does not
    count, ``waits_for_more`` whether instances without a slot wait (else the file does not count), ``warmups`` the
    copies beside the wanted ones at once, ``probe_ms`` when to decide again while anything waits, ``order`` the task
    ids that warm up first.
    """

    plan: str
    application: str
    expires_ms: int
    waits_for_more: bool
    warmups: int
    probe_ms: int
    order: tuple[str, ...]
    slots: tuple[Slot, ...]


def parse_target(content: bytes) -> TargetFile:
    """Read a target file.

    Raises:
        TargetRefused: it does not count, whatever the group is.
    """
    if len(content) > MAX_BYTES:
        raise TargetRefused("too-large")
    values = _keys(content)
    if values.get("format") != "1":
        raise TargetRefused("format")
    names = _list(values.get("slots", ""))
    required = [*_GENERAL_KEYS, *(f"slot.{name}.{part}" for name in names for part in ("match", "active", "standby"))]
    if any(key not in values for key in required):
        raise TargetRefused("missing-key")
    if values.keys() - set(required):
        raise TargetRefused("unknown-key")
    return _file(values, names)


def check_against_group(file: TargetFile, application: str | None, stateful: Mapping[str, bool], now_ms: int) -> None:
    """Check a file against the group that it is to count for, but for the number of its members.

    Args:
        file: the file.
        application: the group's ``application.id``; ``None``: it is unknown and not compared.
        stateful: every task of the group by its id, and whether it is stateful.
        now_ms: the leader's clock, in milliseconds since 1970.

    Raises:
        TargetRefused: the file does not count.
    """
    if application is not None and file.application != application:
        raise TargetRefused("application")
    if now_ms >= file.expires_ms:
        raise TargetRefused("expired")
    active = [task for slot in file.slots for task in slot.active]
    placed = set(active)
    if len(placed) != len(active):
        raise TargetRefused("placed-twice")
    if placed != stateful.keys():
        raise TargetRefused("tasks")
    for slot in file.slots:
        if len({*slot.active, *slot.standby}) != len(slot.active) + len(slot.standby):
            raise TargetRefused("bad-standby")
        if not all(stateful.get(task) for task in slot.standby):
            raise TargetRefused("bad-standby")
    if len(set(file.order)) != len(file.order) or not all(stateful.get(task) for task in file.order):
        raise TargetRefused("bad-order")


def _keys(content: bytes) -> dict[str, str]:
    """Return every key but the last one, which says that nothing was cut off."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TargetRefused("not-utf-8") from error
    values: dict[str, str] = {}
    for line in (untrimmed.strip(" \t\r") for untrimmed in text.split("\n")):
        if not line or line.startswith("#"):
            continue
        key, is_pair, value = line.partition("=")
        if not is_pair or _KEY.fullmatch(key) is None:
            raise TargetRefused("syntax")
        if key in values:
            raise TargetRefused("duplicate-key")
        values[key] = value
    if not values or [*values][-1] != _END or values.pop(_END) != str(len(values)):
        raise TargetRefused("truncated")
    return values


def _file(values: Mapping[str, str], names: tuple[str, ...]) -> TargetFile:
    if not names or len(set(names)) != len(names) or any(_NAME.fullmatch(name) is None for name in names):
        raise TargetRefused("bad-value")
    if _PLAN.fullmatch(values["plan"]) is None or values["extra"] not in ("balance", "wait"):
        raise TargetRefused("bad-value")
    return TargetFile(
        plan=values["plan"],
        application=values["application"],
        expires_ms=_time_ms(values["expires"]),
        waits_for_more=values["extra"] == "wait",
        warmups=_number(values["warmups"], 1, MAX_WARMUPS),
        probe_ms=_number(values["probe.ms"], *PROBE_RANGE_MS),
        order=_tasks(values["order"]),
        slots=tuple(
            Slot(
                name=name,
                match=_match(values[f"slot.{name}.match"]),
                active=_tasks(values[f"slot.{name}.active"]),
                standby=_tasks(values[f"slot.{name}.standby"]),
            )
            for name in names
        ),
    )


def _list(value: str) -> tuple[str, ...]:
    return tuple(value.split(",")) if value else ()


def _tasks(value: str) -> tuple[str, ...]:
    tasks = _list(value)
    if any(_TASK.fullmatch(task) is None for task in tasks):
        raise TargetRefused("bad-value")
    return tasks


def _number(value: str, low: int, high: int) -> int:
    if _NUMBER.fullmatch(value) is None or not low <= int(value) <= high:
        raise TargetRefused("bad-value")
    return int(value)


def _match(value: str) -> str:
    if _MATCH.fullmatch(value) is None:
        raise TargetRefused("bad-value")
    return value


def _time_ms(value: str) -> int:
    if _EXPIRES.fullmatch(value) is None:
        raise TargetRefused("bad-value")
    try:
        time = datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise TargetRefused("bad-value") from error
    return int(time.timestamp()) * 1000


def target_text(file: TargetFile) -> str:
    """Return a target file as text; :func:`parse_target` reads it back."""
    values = {
        "format": "1",
        "plan": file.plan,
        "application": file.application,
        "expires": datetime.fromtimestamp(file.expires_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "extra": "wait" if file.waits_for_more else "balance",
        "warmups": str(file.warmups),
        "probe.ms": str(file.probe_ms),
        "order": ",".join(file.order),
        "slots": ",".join(slot.name for slot in file.slots),
    }
    for slot in file.slots:
        values[f"slot.{slot.name}.match"] = slot.match
        values[f"slot.{slot.name}.active"] = ",".join(slot.active)
        values[f"slot.{slot.name}.standby"] = ",".join(slot.standby)
    values[_END] = str(len(values))
    return "".join(f"{key}={value}\n" for key, value in values.items())


class TargetNow(NamedTuple):
    """A target file's ``content`` (``None``: there is none) at ``now_ms``, milliseconds since 1970."""

    content: bytes | None = None
    now_ms: int = 0


NO_TARGET = TargetNow()
