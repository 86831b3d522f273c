"""How a Connect group gets to ``sessioned``, as JSON: the steps, and either side."""

from __future__ import annotations

from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.render.json_document import document_line, plain
from kstream_plan.render.pages.sessioned import sessioned_remarks, sessioned_steps
from kstream_plan.simulation.sessioned import SessionedUpgrade


def sessioned_json(upgrade: SessionedUpgrade) -> str:
    """Return the answer as one line of JSON, ``documents/schemas/sessioned.json``, without the line end."""
    snapshot = upgrade.snapshot
    answer_fields = {
        "input": {
            "snapshot_digest": upgrade.snapshot_digest,
            "generation": snapshot.state.generation,
            "captured_at": snapshot.captured_at,
        },
        "protocol": upgrade.protocol,
        "steps": list(sessioned_steps(upgrade)),
        "restart_ms": upgrade.restart_ms,
        "pause_ms": upgrade.pause_ms,
        "joining": upgrade.add,
        "worker": upgrade.worker,
        "leader": upgrade.leader,
        "draws": upgrade.draws,
        "rows": [{"what": row.what, "protocol": row.protocol, **plain(row.figures)} for row in upgrade.rows],
        **plain(sessioned_remarks(upgrade)),
    }
    application_id = snapshot.state.group.application_id
    return document_line("sessioned", FORMAT_VERSION, application_id, upgrade.models, answer_fields)
