"""Ways to restart a group as JSON, and the best one as a scenario file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.write import notes
from kstream_plan.documents.scenario_file import scenario_yaml
from kstream_plan.documents.streams_config import kafka_name
from kstream_plan.model.scenario import moment
from kstream_plan.render.pages.bounce import (
    WAY_NAMES,
    bounce_assumptions,
    bounce_next,
    bounce_notes,
    bounce_warnings,
)
from kstream_plan.render.text.escape import TERMINAL
from kstream_plan.simulation.bounces import Bounces, PlayedWay, Way
from kstream_plan.version import __version__

_FORMAT_VERSION = "1.0"


def bounce_json(bounces: Bounces) -> str:
    """Return one line of JSON, described by ``documents/schemas/bounce.json``, without the line end."""
    first = bounces.played[0].plan
    document: dict[str, Json] = {
        "format_version": _FORMAT_VERSION,
        "kind": "bounce",
        "application_id": first.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": first.models},
        "input": {
            "snapshot_digest": first.snapshot_digest,
            "generation": first.generation,
            "captured_at": first.captured_at,
            "now": bounces.time,
        },
        "restart_ms": bounces.restart_ms,
        "instances": list(bounces.process_ids) or None,
        "answer": None if bounces.answer is None else bounces.answer.value,
        "doubts": notes(bounces.reasons),
        "warnings": notes(bounce_warnings(bounces)),
        "notes": notes(bounce_notes(bounces)),
        "assumptions": notes(bounce_assumptions(bounces)),
        "next": notes(bounce_next(bounces)),
        "ways": [{**_way(way.way), "best": way is bounces.best_safe, **_way_figures(way)} for way in bounces.played],
        "not_played": [{**_way(way), "least_ms": least_ms} for way, least_ms in bounces.left_out],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def best_scenario(bounces: Bounces) -> str:
    """Return the scenario file of the best way; there has to be one."""
    best = bounces.best_safe
    assert best is not None
    settings = "".join(
        f", with {kafka_name(name)}={value} (simulate --session-timeout {moment(value)})"
        for name, value in best.way.settings
    )
    name = TERMINAL.name(best.plan.group.application_id)
    return scenario_yaml(best.scenario, f"restarts of {name}: {WAY_NAMES.get(best.way.name, best.way.name)}{settings}")


def _way(way: Way) -> dict[str, Json]:
    zones: Mapping[str, Sequence[str]] = way.zones
    return {
        "way": way.name,
        "settings": {kafka_name(name): value for name, value in way.settings},
        "tag": way.tag,
        "zones": {zone: list(process_ids) for zone, process_ids in zones.items()} if zones else None,
    }


def _way_figures(way: PlayedWay) -> dict[str, Json]:
    figures = way.figures
    return {
        "safe": way.safe,
        "unproven_starts": len(way.unproven),
        "outcome": way.found.outcome,
        "restarts": way.restarts,
        "restarts_found": way.found.restarts,
        "longer_pause_ms_not_safe": way.found.longer_ms,
        "settles": way.settles,
        "pause_ms": way.pause_ms,
        "ends_ms": way.ends_ms,
        "still_at_once": way.still_at_once._asdict(),
        "paused_at_once": figures.paused_at_once,
        "draws": None if way.draws is None else way.draws.number,
        "rebalances": figures.rebalances._asdict(),
        "cold_handovers": figures.cold_handovers._asdict(),
        "most_cold": way.most_cold,
        "max_paused_ms": figures.max_paused_ms._asdict(),
        "restored_records": None if figures.restored_records is None else figures.restored_records._asdict(),
        "scenario": scenario_yaml(way.scenario, way.way.name),
    }
