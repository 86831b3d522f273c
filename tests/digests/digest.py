"""What of a case's JSON is digested: everything but what people read, and what follows from that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import KstreamPlanError, PlanInvariantError
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.simulate import simulate
from tests.digests.cases import Case, case

#: Texts that people read, by their keys; a step's ``reason`` has fields, a verdict's is a sentence.
TEXTS = ("message", "reason", "words")
#: What made the plan, what of its input it repeats, and digests of that and of texts: by their paths.
LEFT_OUT = ("tool", "input.digest", "input.snapshot_digest", "seal", "behind", "end.stores", "end.unprocessed")
#: How options that would tell were written when digests were recorded: a new spelling alters none.
_SPELLED_BEFORE = {"--set stores=": "--stores "}
_DIGITS = 16


def document(number: int) -> Any:
    """Return the JSON of a case that is digested; of one that is refused the class of the error.

    Raises:
        PlanInvariantError: the plan contradicts itself.
    """
    try:
        return digested(whole(case(number)))
    except PlanInvariantError:
        raise
    except KstreamPlanError as error:
        return {"refused": type(error).__name__}


def digest_of(document: Any) -> str:
    """Return the digest of a document."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_DIGITS]


def digest(number: int) -> str:
    """Return the digest of a case."""
    return digest_of(document(number))


def whole(case: Case) -> Any:
    """Return the whole JSON of a case."""
    if case.draws is None:
        return json.loads(plan_json(plan(case.snapshot, case.options, scenario=case.scenario), full=True))
    assert case.scenario is not None
    simulation = simulate(case.snapshot, case.scenario, case.options, number_of_draws=case.draws)
    return json.loads(simulation_json(simulation, full=True))


def digested(value: Any, path: str = "") -> Any:
    """Return what of a plan's JSON is digested."""
    if isinstance(value, list):
        return [digested(item, f"{path}[]") for item in value]
    if isinstance(value, str) and path.endswith("settled_by[]"):
        for new, before in _SPELLED_BEFORE.items():
            value = value.replace(new, before)
    if not isinstance(value, dict):
        return value
    inside = f"{path}." if path else ""
    return {
        name: digested(item, inside + name)
        for name, item in value.items()
        if inside + name not in LEFT_OUT and not (name in TEXTS and isinstance(item, str))
    }


def first_difference(before: Any, after: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Return the path of the first difference of two documents, and what stands there."""
    if before == after:
        return None
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            if name not in before or name not in after:
                return f"{path}.{name}", before.get(name, "nothing"), after.get(name, "nothing")
            if (found := first_difference(before[name], after[name], f"{path}.{name}")) is not None:
                return found
    if isinstance(before, list) and isinstance(after, list):
        for place, (old, new) in enumerate(zip(before, after, strict=False)):
            if (found := first_difference(old, new, f"{path}[{place}]")) is not None:
                return found
        return f"{path} (number)", len(before), len(after)
    return path, before, after


def leaves(value: Any, *keys: str | int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield every value in a document that has no parts, with the keys that lead to it."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if parts is None:
        yield keys, value
        return
    for key, part in parts:
        yield from leaves(part, *keys, key)
