"""How an application went on over time, as a JSON document."""

from __future__ import annotations

import json
from typing import Any

from kstream_plan.documents.remarks import remarks_json
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.rows.lag_course import InstanceCourse, LagCourse, Progress
from kstream_plan.snapshots.rows.lag_remarks import lag_remarks

FORMAT_VERSION = "1.0"


def lag_history_json(course: LagCourse) -> str:
    """Return the document on one line (``kstream-plan schema history``); every instance and task is in it."""
    document = {
        "format_version": FORMAT_VERSION,
        "kind": "history",
        "application_id": course.application_id,
        "since": format_time(course.since_ms),
        "until": format_time(course.until_ms),
        "step_ms": course.step_ms,
        "rows": course.rows,
        "copies": course.copies,
        **_progress(course.progress),
        "falls_behind": course.falls_behind,
        "lags": list(course.lags),
        "instances": [
            {
                "process_id": one.process_id,
                "copies": one.copies,
                "heard_at": format_time(one.heard_ms),
                **_progress(one.progress),
                "falls_behind": one.falls_behind,
                "copies_behind": one.copies_behind,
                "most_behind": _most_behind(one),
                "is_silent": one.is_silent,
                "lags": list(one.lags),
            }
            for one in course.instances
        ],
        "tasks": [
            {
                "task_id": task.task_id,
                "copies": task.copies,
                "lag": task.lag,
                "at_least": list(task.at_least),
                "written_per_second": _rounded(task.written_per_second),
            }
            for task in course.tasks
        ],
        **remarks_json(lag_remarks(course)),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"


def _progress(progress: Progress) -> dict[str, Any]:
    return {
        "lag": progress.lag,
        "lag_before": progress.lag_before,
        "written_per_second": _rounded(progress.written_per_second),
        "restored_per_second": _rounded(progress.restored_per_second),
        "at_least": list(progress.at_least),
    }


def _most_behind(one: InstanceCourse) -> dict[str, Any] | None:
    return None if one.most_behind is None else dict(zip(("task_id", "growth"), one.most_behind, strict=True))


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 3)
