"""Files of saved plans: which files are some, and what is in them; JSON, plain or gzip."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

from kstream_plan.documents.plan.read import NoPlanError, SavedPlan, all_sound, each_saved
from kstream_plan.documents.results import each_result, is_results_file
from kstream_plan.errors import PlanFileError
from kstream_plan.plans import Plan
from kstream_plan.snapshots.files.content import GZIP_MAGIC, at_hand, read_file
from kstream_plan.snapshots.files.kinds import HEAD_BYTES
from kstream_plan.snapshots.rows.json_text import kind_of


def read_plan_file(path: str | Path) -> list[Plan]:
    """Return the plans of one file, in file order.

    Raises:
        PlanFileError: the file cannot be read, or is damaged.
    """
    return [saved_plan.plan for saved_plan in read_saved_file(path)]


def read_saved_file(path: str | Path) -> list[SavedPlan]:
    """Return the plans of one file, in file order, with their simulations.

    Raises:
        PlanFileError: the file cannot be read, or is damaged.
    """
    return all_sound(each_saved_in(path))


def each_saved_in(path: str | Path) -> Iterator[SavedPlan | PlanFileError]:
    """Yield every plan of one file, or its error; also the error if the file cannot be read."""
    if is_results_file(path):
        yield from _plans_of_results(path)
        return
    try:
        data = read_file(path)
    except OSError as error:
        yield PlanFileError(f"cannot read the file: {error.strerror or error}", where=str(path), fix="check the path")
        return
    yield from each_saved(data, str(path))


def _plans_of_results(path: str | Path) -> Iterator[SavedPlan | PlanFileError]:
    """Yield the plan of every row of results; for a row without one its error."""
    for number, result in enumerate(each_result(path, with_plan=True), 1):
        location = f"{path}, row {number}"
        if isinstance(result, PlanFileError):
            yield result
        elif result.plan is None:
            application_id = result.application_id
            yield NoPlanError(f"has no plan: {result.error}", where=location, application_id=application_id)
        else:
            yield from each_saved(result.plan.encode(), location)


def is_plan_file(path: str | Path) -> bool:
    """Tell by a look whether a path is a file of saved plans, or of results; what cannot be read is none."""
    try:
        with open(at_hand(path), "rb") as file:
            return are_plans(file.read(HEAD_BYTES)) or is_results_file(path)
    except OSError:
        return False


def are_plans(data: bytes) -> bool:
    """Tell by a look at their beginning whether these are saved plans, plain or gzip, and if they are cut short."""
    head = data[:HEAD_BYTES]
    if head.startswith(GZIP_MAGIC):
        try:
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, HEAD_BYTES)
        except zlib.error:
            return False
    return kind_of(head) == "plan"
