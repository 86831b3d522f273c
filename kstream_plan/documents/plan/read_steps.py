"""One step of a saved plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kstream_plan.documents.json_fields import JsonFields
from kstream_plan.model import TaskId
from kstream_plan.plans import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    MemberJoined,
    MemberLeft,
    Place,
    Promote,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    Step,
    ThreadMove,
    Withhold,
)


def read_step(item: JsonFields) -> Step:
    """Return the step that a JSON object describes.

    Raises:
        PlanFileError: an unknown kind, or a field of its kind is missing or of another type.
    """
    kind = item.text_at("kind")
    read = _READERS.get(kind)
    if read is None:
        raise item["kind"].fail(f"is {kind!r}, not one of {', '.join(_READERS)}")
    return read(item)


def _task_id(item: JsonFields) -> TaskId:
    return item.parsed_at("task_id", TaskId.parse)


def _seat(field: JsonFields) -> Seat:
    return Seat(field.text_at("process_id"), field.text_at("consumer_id"), field.one_of_at("role", Role))


def _reason(item: JsonFields) -> Reason:
    reason = item["reason"]
    lag, limit, other_lag = reason.integer_at("lag"), reason.integer_at("limit"), reason.integer_at("other_lag")
    return Reason(reason.one_of_at("code", ReasonCode), lag, limit, other_lag)


def _place(item: JsonFields) -> Place:
    from_, restore_records = item.get("from").or_none(_seat), _restore_records(item)
    return Place(_task_id(item), from_, _seat(item["to"]), restore_records, _reason(item))


def _keep_temporary(item: JsonFields) -> KeepTemporary:
    return KeepTemporary(_task_id(item), item.get("from").or_none(_seat), _seat(item["to"]), _reason(item))


def _hand_over(item: JsonFields) -> HandOver:
    caught_up, restore_records = _start(item)
    from_ = item.get("from").or_none(_seat)
    return HandOver(_task_id(item), from_, _seat(item["to"]), caught_up, restore_records, _reason(item))


def _promote(item: JsonFields) -> Promote:
    caught_up, restore_records = _start(item)
    return Promote(_task_id(item), _seat(item["from"]), _seat(item["to"]), caught_up, restore_records, _reason(item))


def _start(item: JsonFields) -> tuple[bool, int | None]:
    return item.boolean_at("caught_up"), _restore_records(item)


def _restore_records(item: JsonFields) -> int | None:
    return item.integer_at("restore_records")


_READERS: Mapping[str, Callable[[JsonFields], Step]] = MappingProxyType(
    {
        "member-joined": lambda item: MemberJoined(item["process_id"].text(), _reason(item)),
        "member-left": lambda item: MemberLeft(
            item["process_id"].text(), item["stopped_at_ms"].integer(), _reason(item)
        ),
        "place": _place,
        "withhold": lambda item: Withhold(_task_id(item), _seat(item["from"]), _seat(item["to"]), _reason(item)),
        "keep-temporary": _keep_temporary,
        "revoke": lambda item: Revoke(_task_id(item), _seat(item["from"]), _reason(item)),
        "demote": lambda item: Demote(_task_id(item), _seat(item["from"]), _seat(item["to"]), _reason(item)),
        "hand-over": _hand_over,
        "promote": _promote,
        "thread-move": lambda item: ThreadMove(_task_id(item), _seat(item["from"]), _seat(item["to"]), _reason(item)),
        "drop": lambda item: Drop(_task_id(item), _seat(item["from"]), _reason(item)),
    }
)
