"""The way to the cooperative protocol, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, NamedTuple

from kstream_plan.answers.document import FORM, added, document, field
from kstream_plan.designs.classic import MODELS
from kstream_plan.documents.codec import TEXT, list_of, one_of, or_null, whole
from kstream_plan.protocols.interleavings import Action
from kstream_plan.protocols.upgrade import Restart, TwoOwners, Upgrade


class _Event(NamedTuple):
    """One step of a consumer, and what it owns afterwards."""

    process_id: str
    consumer_id: str
    action: Action
    owned: tuple[str, ...]


def _events(wrong: TwoOwners) -> Iterator[_Event]:
    for event in wrong.events:
        yield _Event(*wrong.consumers[event.member], event.action, tuple(sorted(map(str, event.owned))))


FORM.record(
    Restart,
    bounce=whole(1, 2).described("Number of the rolling bounce."),
    protocols="What its consumers list afterwards.",
    group_protocol=one_of(["eager", "mixed", "cooperative"]).described("What the group follows afterwards."),
    cooperative_consumers="Consumers that keep their tasks through a rebalance by then.",
)
_PLACE: dict[str, Any] = {
    "process_id": field(itemgetter(0), codec=TEXT),
    "consumer_id": field(itemgetter(1), codec=TEXT),
}
_PLACES = list_of(FORM.view(tuple, ref="consumer", **_PLACE))
_REFUSED = FORM.view(tuple, **_PLACE, reason=field(itemgetter(2), "Why.", TEXT))
_ONE_BOUNCE = FORM.view(
    TwoOwners,
    task_id="The task that gets two owners.",
    events=field(
        lambda wrong: list(_events(wrong)),
        "The steps, in order.",
        list_of(FORM.record(_Event, action="What it does.", owned="After the step.")),
    ),
)
UPGRADE = document(
    "upgrade",
    Upgrade,
    "The rolling bounces that bring a group to the cooperative protocol",
    group_at="group",
    models_at=lambda _answer: MODELS,
    restarts="In order; none if the group is cooperative already.",
    cannot_mix=list_of(_REFUSED).described("Consumers that cannot take part."),
    untold=added(_PLACES, "Consumers whose protocols are not in the snapshot; they count as eager."),
    split=added(
        _PLACES,
        "Consumers that list cooperative only while others do not list it at all: tasks may have two owners already.",
    ),
    one_bounce=or_null(_ONE_BOUNCE).described(
        "The shortest order of steps in which a single bounce gives a task two owners; null if none is known."
    ),
)
