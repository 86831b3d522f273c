"""The seal of a saved plan: a digest of what its rounds cannot prove, so that a figure that was edited out is missed.

It guards against a deleted range or warning, not against somebody who makes a new seal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kstream_plan.documents.codec import WrongValueError
from kstream_plan.model import Note
from kstream_plan.plans import Plan
from kstream_plan.plans.plan import ENDS_NOT_SAVED, MAYBE_READY
from kstream_plan.version import __version__

#: What to do about a plan that was edited, whichever command saved it.
EDITED = "the file was edited: save the plan again with --out of the command that made it"
#: The parts of a plan's JSON that nothing else in it proves, beside the draws of a simulation and the group's design.
SEALED = (
    "input",
    "tasks",
    "instances",
    "members",
    "rates",
    "summary",
    "warnings",
    "notes",
    "assumptions",
    "verdict",
    "unproven_starts",
)
#: Parts that plans have had since there were seals: what has none of them fits the seals of before.
LATER = ("restoring_starts",)


def seal_of(document: Mapping[str, Any]) -> str:
    """Return the seal that fits a plan's JSON, of a simulation with its draws."""
    parts = {name: document.get(name) for name in SEALED}
    parts |= {name: document[name] for name in LATER if name in document}
    parts["design"] = (document.get("tool") or {}).get("design")
    parts["draws"] = (document.get("simulation") or {}).get("draws")
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def with_known_ends(plan: Plan, seal: str | None, version: str, document: Mapping[str, Any]) -> Plan:
    """Return the plan, with a warning if its ranges may have been lost since another version saved it.

    A build of this version from before there were seals is taken at its word that some figures are ranges.

    Raises:
        WrongValueError: this version saved it, and its ranges are not what they were, or its seal was deleted.
    """
    if seal is not None and seal == seal_of(document):
        return plan
    if version == __version__ and seal is not None:
        raise WrongValueError(
            f"does not fit {', '.join((*SEALED, *LATER))}, tool.design or simulation.draws", ".seal", fix=EDITED
        )
    had_ranges = plan.pauses_from_start or any(note.code == MAYBE_READY for note in plan.assumptions)
    if version == __version__ and not plan.summary.ranges and had_ranges:
        raise WrongValueError("is missing, so figures that are ranges may be, too", ".seal", fix=EDITED)
    if any(note.code == ENDS_NOT_SAVED for note in plan.warnings):
        return plan
    return replace(plan, warnings=(*plan.warnings, _not_saved(version)))


def _not_saved(version: str) -> Note:
    message = (
        f"Whether figures of this plan are ranges is unknown: its seal, by version {version}, is missing or does not "
        "fit (plan the snapshot again)"
    )
    return Note(ENDS_NOT_SAVED, message)
