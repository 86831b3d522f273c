"""Target files that are written, or checked, as JSON."""

from __future__ import annotations

from typing import Any

from kstream_plan.answers.document import FORM, NOTES, document, field
from kstream_plan.assignors.planned.target_file import Slot, TargetFile
from kstream_plan.designs.classic import MODELS
from kstream_plan.documents.codec import COUNT, TEXT, list_of, one_of, or_null
from kstream_plan.model.target_refusals import REFUSALS
from kstream_plan.model.times import format_time
from kstream_plan.plans import Plan
from kstream_plan.simulation.target_check import Seated, TargetCheck
from kstream_plan.simulation.target_export import TargetExport

FORM.record(
    Slot,
    name="Its name in the file.",
    match="What tells its instance from others.",
    active="The tasks that it is to run.",
    standby="The tasks that it is to hold a standby of.",
)
_FILE = FORM.view(
    TargetFile,
    plan="Id of the plan, in every line of the log of the class that follows the file.",
    expires=field(lambda file: format_time(file.expires_ms), "When it stops to count, RFC 3339 in UTC.", TEXT),
    waits_for_more="Whether instances beyond the slots get nothing; else the file does not count with them.",
    warmups="Copies beside the wanted ones at once, at most.",
    probe_ms="Time until the next decision while anything waits.",
    order="The stateful tasks that warm up first.",
    slots="One for each instance.",
)
_SIMULATED = FORM.view(
    Plan,
    duration_ms=field("summary.duration_ms"),
    duration_is=field("summary.duration_is"),
    rebalances=field("summary.rebalances"),
    moves=field("summary.moves", "Stateful tasks whose owning instance differs at the end."),
)


def _of_export(name: str, default: Any = None) -> Any:
    return lambda answer: default if answer.export is None else getattr(answer.export, name)


EXPORT_TARGET = document(
    "export-target",
    TargetExport,
    "A target file, or why none was written",
    group_at="",
    models_at=lambda _answer: MODELS,
    answer="",
    path="The file.",
    reasons=list_of(TEXT).described("Every reason why no file was written; none if one was."),
    file=field(_of_export("file"), "What is in it; null: it was not written.", or_null(_FILE)),
    simulated=field(
        _of_export("simulated_plan"), "What it leads to; null: that was not simulated.", or_null(_SIMULATED)
    ),
    unsimulated=field(_of_export("unsimulated", ""), "Why not; empty if it was.", TEXT),
    in_batches=field(
        _of_export("is_grouped", default=False),
        "Whether tasks warm up for one instance after another.",
        FORM.codec_of(bool),
    ),
)
FORM.record(
    Seated, name="The slot's name in the file.", process_id=or_null(TEXT).described("Who has it; null: it is empty.")
)
CHECK_TARGET = document(
    "check-target",
    TargetCheck,
    "Whether a target file would count for a group as it is",
    group_at="group",
    models_at=lambda _answer: MODELS,
    answer="",
    path="The file.",
    refusal=or_null(one_of(REFUSALS)).described("Code for which the file does not count; null: it does."),
    plan="Id of the plan in the file; null where it does not count.",
    expires=field(
        lambda check: None if check.expires_ms is None else format_time(check.expires_ms),
        "Until when it counts, RFC 3339 in UTC; null where it does not.",
        or_null(TEXT),
    ),
    slots=list_of(FORM.codec_of(Seated)).described("In the order of the file."),
    unseated=list_of(TEXT).described("Instances without a slot."),
    moving=COUNT.described("Stateful tasks that change their owner."),
    waiting=COUNT.described("Tasks that have to warm up first."),
    standbys_waiting=COUNT.described("Standbys that have to."),
    doubts=NOTES.described("Why the answer is unknown."),
)
