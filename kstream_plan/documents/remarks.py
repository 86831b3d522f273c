"""The lines below the figures of an answer, as JSON."""

from __future__ import annotations

from kstream_plan.documents.codec import Json
from kstream_plan.model.note import Remarks


def remarks_json(remarks: Remarks) -> dict[str, Json]:
    """Return the fields ``warnings``, ``notes``, ``assumptions`` and ``next`` of a document."""
    return {
        name: [{"code": note.code, "message": note.message, "subjects": list(note.subjects)} for note in notes]
        for name, notes in remarks._asdict().items()
    }
