"""Results as a data set: one flat row per application, with its plan. What a row holds, and rows read back from files.

The files are those of a folder that Spark has written: JSON Lines or Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from kstream_plan.documents.codec import Json, WrongValueError, schema_of
from kstream_plan.documents.records import Codecs, Field
from kstream_plan.errors import PlanFileError
from kstream_plan.plans.result import Result
from kstream_plan.snapshots.files.content import at_hand, read_file
from kstream_plan.snapshots.files.kinds import HEAD_BYTES
from kstream_plan.snapshots.files.sources import PARQUET_MAGIC, check_paths
from kstream_plan.snapshots.rows.json_text import COLUMNS_OF_RESULTS, kind_of

FORMAT_VERSION = "1.0"
_ROWS_AT_ONCE = 64

_DESCRIPTIONS = {
    "format_version": "Major and minor version of this format.",
    "kind": "What this is.",
    "outcome": "`settled`: nothing follows; `moving`: it settles; else how it ends; `unreadable`: no plan.",
    "application_id": "The group's application id; null if it is `unreadable` and the id is unknown too.",
    "error": "Why there is no plan.",
    "generation": "The snapshot's.",
    "captured_at": "When the snapshot was taken, RFC 3339.",
    "design": "How the group coordinates.",
    "assignor": "Who decides.",
    "protocol": "The protocol by which tasks change their owner.",
    "digest": "SHA-256 of the input, as in the plan.",
    "snapshot_digest": "The same for the snapshot and its settings alone.",
    "instances": "Instances of the group before.",
    "instances_empty": "Those among them that hold nothing: they have just joined, or no task is left for them.",
    "instances_joining": "Instances that join in the plan.",
    "instances_leaving": "Instances that are gone at the plan's end.",
    "tasks": "All tasks.",
    "stateful_tasks": "Tasks with state.",
    "spread": "Maximum minus minimum of stateful tasks that an instance runs, as the first rebalance finds them.",
    "standbys_missing": (
        "Number of missing standbys: those that num.standby.replicas asks for and the instances allow, less those "
        "assigned."
    ),
    "settles_surely": "Whether it settles in every outcome and every random simulation.",
    "rebalances": "Rounds of the plan.",
    "probing_rebalances": "Rounds that a probe starts.",
    "duration_ms": "How long it takes, median of all random simulations.",
    "duration_ms_least": "Minimum of the duration.",
    "duration_ms_most": "The maximum that is known; it may take longer, unless `duration_is` is `estimate`.",
    "duration_is": "What `duration_ms` is, as in the plan.",
    "moves_least": "Stateful tasks that change owner, at least.",
    "moves_most": "At most.",
    "cold_handovers_least": "Cut-overs to a copy above the acceptable lag (cold starts), at least.",
    "cold_handovers_most": "At most; with `more_may_follow` there may be more.",
    "more_may_follow": "Whether not every outcome was simulated to its end, so that figures are lower bounds.",
    "restoring_first": "Tasks that count as caught up, and restore for a second or more before they run, at most.",
    "max_paused_task_ms_least": "Longest pause of a task in total, with what it restores before it runs, at least.",
    "max_paused_task_ms_most": "At most; with `pauses_are_least` it may be longer.",
    "pauses_are_least": "Whether it is unknown how long tasks restore before they run, or how long they pause.",
    "restored_records_least": "Records restored, at least; null: unknown.",
    "restored_records_most": "At most; null: unknown.",
    "peak_extra_copies": "Maximum of warm-up and temporary copies at the same time.",
    "draws": "Number of random simulations behind these figures; null: nothing is random.",
    "draws_settled": "Number of them that settle; null: nothing is random, or an older version wrote the row.",
    "cause": "Why it does not settle.",
    "cure": "A setting with which it settles whatever is unknown, as name=value.",
    "duration_ms_likely": "How long the plan takes.",
    "moves_likely": "Stateful tasks that change owner in the plan.",
    "cold_handovers_likely": "Cold starts of the plan.",
    "max_paused_task_ms_likely": "The longest pause of a task in the plan, in total, with what it restores first.",
    "restored_records_likely": "Records restored in the plan; null: unknown.",
    "tasks_per_instance_least": "Tasks of the instance that runs the fewest, before.",
    "tasks_per_instance_most": "Tasks of the instance that runs the most, before.",
    "tasks_per_instance_after_least": "The fewest at the end of the plan.",
    "tasks_per_instance_after_most": "The most at the end of the plan.",
    "plan": "The saved plan, as `kstream-plan schema plan` has it.",
}
_NEEDED = {"format_version", "kind", "outcome"}

_FIELDS: dict[str, Any] = {
    name: description if name in _NEEDED else Field(description=description, default=None)
    for name, description in _DESCRIPTIONS.items()
}
#: How a row is read, written and described.
RESULT = Codecs().record(
    Result, "The result for one application: one row of the data set that `--set out.format` writes.", **_FIELDS
)

_SPARK_TYPES = {int: "bigint", bool: "boolean"}


def schema() -> dict[str, Json]:
    """Return the JSON Schema of a row."""
    return schema_of("results", "kstream-plan results", RESULT)


def spark_columns() -> str:
    """Return the columns of a row as Spark's schema."""
    kinds = get_type_hints(Result)
    columns = []
    for field in fields(Result):
        arguments = get_args(kinds[field.name])
        columns.append(
            f"{field.name} {next((_SPARK_TYPES[kind] for kind in arguments if kind in _SPARK_TYPES), 'string')}"
        )
    return ", ".join(columns)


def result_line(result: Result) -> str:
    """Return a result as one line of ASCII, without the line end."""
    return json.dumps(RESULT.to_json(result), sort_keys=True, separators=(",", ":"))


def row_of(result: Result) -> tuple[Any, ...]:
    """Return a row's values in the order of its columns."""
    return tuple(getattr(result, field.name) for field in fields(result))


def is_results_file(path: str | Path) -> bool:
    """Tell by a look whether a path is a file of results; what cannot be read is none."""
    try:
        with open(at_hand(path), "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    if not head.startswith(PARQUET_MAGIC):
        return kind_of(head) == "result"
    from pyarrow import ArrowException  # noqa: PLC0415 - only for Parquet
    from pyarrow.parquet import read_schema  # noqa: PLC0415

    try:
        return set(read_schema(at_hand(path)).names) >= COLUMNS_OF_RESULTS
    except (OSError, ArrowException):
        return False


def read_results(path: str | Path) -> list[Result]:
    """Return the rows of a folder or file of results, without their plans, in the order of the files.

    Raises:
        PlanFileError: a file cannot be read, or is none of results, or the path leads to another file system.
        SnapshotError: there is no such path.
    """
    results: list[Result] = []
    paths = check_paths([str(path)])
    if paths.remote:
        raise PlanFileError("is not on this machine", where=str(path), fix="copy it here, or read it with Spark")
    for file in paths.local:
        for result in each_result(file.path, with_plan=False):
            if isinstance(result, PlanFileError):
                raise result
            results.append(result)
    return results


def each_result(path: str | Path, *, with_plan: bool) -> Iterator[Result | PlanFileError]:
    """Yield every row of one file, or its error; without its plan unless ``with_plan``.

    A row of another major version, or one that is damaged, is such an error.
    """
    number = 0
    try:
        for row in _rows(path, with_plan):
            number += 1
            yield _result(row, f"{path}, row {number}")
    except (OSError, ValueError) as error:
        yield PlanFileError(f"cannot be read: {error}", where=str(path), fix="check the path")


def _rows(path: str | Path, with_plan: bool) -> Iterator[Any]:
    with open(at_hand(path), "rb") as file:
        is_parquet = file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    if not is_parquet:
        for line in read_file(path).splitlines():
            row = json.loads(line)
            yield row if with_plan or not isinstance(row, dict) else {**row, "plan": None}
        return
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - only for Parquet

    with ParquetFile(at_hand(path)) as file:
        columns = [name for name in file.schema_arrow.names if with_plan or name != "plan"]
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
            yield from batch.to_pylist()


def _result(row: Any, location: str) -> Result | PlanFileError:
    try:
        if not isinstance(row, dict) or row.get("kind") != "result":
            raise WrongValueError("is not a row of results")
        if str(row.get("format_version")).split(".")[0] != FORMAT_VERSION.split(".", maxsplit=1)[0]:
            raise WrongValueError(
                f"is {row.get('format_version')!r}; this version reads {FORMAT_VERSION}", ".format_version"
            )
        return RESULT.read(row)
    except WrongValueError as wrong:
        return PlanFileError(str(wrong), where=location, fix="write the results again with --set out.format")
