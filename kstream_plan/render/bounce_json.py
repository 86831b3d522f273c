"""Ways to restart a group as JSON, and the best one as a scenario file."""

from __future__ import annotations

from kstream_plan.documents.codec import Json
from kstream_plan.documents.frameworks import kafka_name
from kstream_plan.documents.scenario_file import scenario_yaml
from kstream_plan.model.scenario import moment
from kstream_plan.render.json_document import document_line, input_fields, pick, plain
from kstream_plan.render.pages.bounce import WAY_NAMES, bounce_remarks
from kstream_plan.render.text.escape import TERMINAL
from kstream_plan.render.text.would_tell import settled_by
from kstream_plan.simulation.bounces import Bounces, PlayedWay, Way


def bounce_json(bounces: Bounces) -> str:
    """Return one line of JSON, described by ``documents/schemas/bounce.json``, without the line end."""
    first = bounces.played[0].plan
    origin = input_fields(first, "", snapshot_digest=first.snapshot_digest, now=bounces.time)
    del origin["digest"]
    answer_fields = {
        "input": origin,
        **pick(bounces, "restart_ms", "answer"),
        "instances": list(bounces.process_ids) or None,
        "doubts": plain(bounces.reasons),
        "settled_by": settled_by(bounces.as_it_is.unproven if bounces.process_ids else ()),
        **plain(bounce_remarks(bounces)),
        "ways": [{**_way(way.way), "best": way is bounces.best_safe, **_way_figures(way)} for way in bounces.played],
        "not_played": [{**_way(way), "least_ms": least_ms} for way, least_ms in bounces.left_out],
    }
    return document_line("bounce", "1.0", first.group.application_id, first.models, answer_fields)


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
    return {
        "way": way.name,
        "settings": {kafka_name(name): value for name, value in way.settings},
        "tag": way.tag,
        "zones": plain(way.zones) if way.zones else None,
    }


def _way_figures(way: PlayedWay) -> dict[str, Json]:
    return {
        **pick(way, "safe", "restarts", "settles", "pause_ms", "ends_ms", "still_at_once", "most_cold"),
        **pick(way.figures, "paused_at_once", "rebalances", "cold_handovers", "max_paused_ms", "restored_records"),
        "unproven_starts": len(way.unproven),
        "outcome": way.found.outcome,
        "restarts_found": way.found.restarts,
        "longer_pause_ms_not_safe": way.found.longer_ms,
        "draws": None if way.draws is None else way.draws.number,
        "scenario": scenario_yaml(way.scenario, way.way.name),
    }
