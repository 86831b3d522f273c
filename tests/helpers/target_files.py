"""Target files for groups whose members have a tag ``pod``, written by hand: format 1 of ``kstream_plan/plugin``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple


class Slot(NamedTuple):
    """What the member of a pod is to run, and to hold standbys of."""

    active: tuple[str, ...]
    standby: tuple[str, ...]


def shared_out(placement: Mapping[str, Iterable[str]], pods: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return tasks by pod, as many for each of ``pods`` or one more: who has some keeps its share of them."""
    names = list(pods)
    held = {pod: sorted(placement.get(pod, ()), key=_order) for pod in names}
    number = sum(map(len, held.values()))
    by_size = sorted(names, key=lambda pod: -len(held[pod]))
    shares = {pod: number // len(names) + (place < number % len(names)) for place, pod in enumerate(by_size)}
    rest = [task for pod in by_size for task in held[pod][shares[pod] :]]
    kept = {pod: held[pod][: shares[pod]] for pod in names}
    for pod in names:
        while len(kept[pod]) < shares[pod]:
            kept[pod].append(rest.pop(0))
    return {pod: tuple(tasks) for pod, tasks in kept.items()}


def _order(task: str) -> tuple[int, ...]:
    return tuple(map(int, task.split("_")))


def target_text(
    slots: Mapping[str, Slot], *, plan: str, application: str, expires: str, order: Iterable[str], probe_ms: int = 5000
) -> str:
    """Return the text of a target file; ``order`` are the tasks that warm up, in this order."""
    lines = [
        "format=1",
        f"plan={plan}",
        f"application={application}",
        f"expires={expires}",
        "extra=balance",
        "warmups=2",
        f"probe.ms={probe_ms}",
        f"order={','.join(order)}",
        f"slots={','.join(slots)}",
    ]
    for pod, slot in slots.items():
        lines += [
            f"slot.{pod}.match=tag:pod={pod}",
            f"slot.{pod}.active={','.join(slot.active)}",
            f"slot.{pod}.standby={','.join(slot.standby)}",
        ]
    return "".join(f"{line}\n" for line in [*lines, f"end={len(lines)}"])


def replace_file(path: Path, text: str) -> None:
    """Write a file in one step, as whoever writes target files has to."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)
