"""Events from outside in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from kstream_plan.model import Instance
from kstream_plan.model import scenario as kinds
from kstream_plan.model.settings import kafka_name
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, name_list


def event_text(event: kinds.Event, names: Names) -> str:  # noqa: C901, PLR0911, PLR0912 - one case per kind
    """Say what an event is; its new instances have their process ids."""
    match event:
        case kinds.Join():
            return _do(_ids(event.instances), names, "joins", "join")
        case kinds.Leave() if event.announced:
            return _do(event.process_ids, names, "announces that it leaves", "announce that they leave")
        case kinds.Leave():
            return _do(event.process_ids, names, "leaves", "leave")
        case kinds.Stop():
            return _do(event.process_ids, names, *(("crashes", "crash") if event.crash else ("stops", "stop")))
        case kinds.Return() if not event.keeps_disk and names.have_disks:
            return _do(event.process_ids, names, "returns without its disk", "return without their disks")
        case kinds.Return():
            return _do(event.process_ids, names, "returns", "return")
        case kinds.Bounce():
            return _bounce(event, names)
        case kinds.Threads():
            return f"{_members([event.process_id], names)} runs {count(event.threads, 'thread')}"
        case kinds.ProduceRate():
            verb = "is" if event.per_second == 1 else "are"
            return f"{_rate(event.per_second)} {verb} written per task{_subtopology(event.subtopology, names)}"
        case kinds.RestoreRate():
            rate = _rate(event.per_second)
            if not event.process_ids:
                return f"every instance restores {rate}"
            return _do(event.process_ids, names, f"restores {rate}", f"restore {rate}")
        case kinds.Burst():
            return f"{event.records:,} records are written per task{_subtopology(event.subtopology, names)}"
        case kinds.ConfigChange():
            return _settings(event, names)
        case kinds.CreateConnectors():
            return f"{_with_tasks(event.task_counts, names)} created"
        case kinds.RescaleConnectors():
            return f"{_with_tasks(event.task_counts, names)} from now on"
        case kinds.DeleteConnectors():
            return f"{name_list([names.escape(name) for name in event.connectors])} deleted"
        case _:
            assert_never(event)


def _rate(per_second: float) -> str:
    return f"{per_second:,g} {'record/s' if per_second == 1 else 'records/s'}"


def _ids(instances: Sequence[kinds.NewInstance | Instance]) -> list[str]:
    return [instance.process_id or "" for instance in instances]


def _do(process_ids: Sequence[str], names: Names, singular: str, plural: str) -> str:
    """Return what one instance, or several, do."""
    return f"{_members(process_ids, names)} {singular if len(process_ids) == 1 else plural}"


def _bounce(event: kinds.Bounce, names: Names) -> str:
    new = f", with {_settings(event, names)}" if event.settings else ""
    length = duration(event.restart_ms)
    if event.surge:
        arrivals = f"{_members(_ids(event.new_instances), names)}, {event.surge:,} at a time"
        gives_way = _do(event.process_ids, names, "gives way to", "give way to")
        return f"{gives_way} {arrivals}, that join {length} before{new}"
    words = ("leaves and returns", "leave and return") if event.leaves else ("restarts", "restart")
    downtime = f"down for {length}{'' if len(event.process_ids) == 1 else ' each'}"
    return f"{_do(event.process_ids, names, *words)}, {downtime}{new}"


def _with_tasks(counts: Sequence[kinds.TaskCount], names: Names) -> str:
    return name_list([f"{names.escape(item.connector)} with {count(item.task_count, 'task')}" for item in counts])


def _settings(event: kinds.ConfigChange | kinds.Bounce, names: Names) -> str:
    return ", ".join(f"{kafka_name(name)}={names.escape(str(value))}" for name, value in event.settings)


def _members(process_ids: Sequence[str], names: Names) -> str:
    """Return instances by name; of a zone that these are, its name as well."""
    area, members = names.whole_area(process_ids), name_list(names.instances(process_ids))
    return f"all of {area} ({members})" if area else members


def _subtopology(subtopology: str | None, names: Names) -> str:
    return "" if subtopology is None else f" of subtopology {names.escape(subtopology)}"
