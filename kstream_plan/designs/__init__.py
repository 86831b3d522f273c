"""Designs: how one kind of group coordinates. A package each, and one line in :data:`DESIGNS`.

Whoever plans looks a design up here and hands it to the planner: neither of the two knows the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kstream_plan.plans.design import Design


class DesignOptions(Protocol):
    """What designs take of the options that a group is planned with."""

    @property
    def assignor(self) -> str:
        """The name of the classic protocol's assignor."""
        ...

    @property
    def protocol(self) -> str:
        """The name of the classic protocol's rebalance protocol."""
        ...

    @property
    def max_learners(self) -> int | None:
        """How many tasks learners learn at once at most, by the draft; ``None``: no limit."""
        ...

    @property
    def scale_down_timeout_ms(self) -> int:
        """After how long a leaving instance is gone at the latest, by the draft."""
        ...


def _classic(options: DesignOptions) -> Design:
    from kstream_plan.designs.classic.design import Classic  # noqa: PLC0415 - who only reads plans needs none of it

    return Classic(options.assignor, options.protocol)


def _learner(options: DesignOptions) -> Design:
    from kstream_plan.designs.learner.design import Learner  # noqa: PLC0415 - as above

    return Learner(options.max_learners, options.scale_down_timeout_ms)


def _streams(_options: DesignOptions) -> Design:
    from kstream_plan.designs.streams.design import Streams  # noqa: PLC0415 - as above

    return Streams()


def _connect(_options: DesignOptions) -> Design:
    from kstream_plan.designs.connect.design import Connect  # noqa: PLC0415 - as above

    return Connect()


def _connect_eager(_options: DesignOptions) -> Design:
    from kstream_plan.designs.connect_eager.design import ConnectEager  # noqa: PLC0415 - as above

    return ConnectEager()


#: Every design by its name: options → the design.
DESIGNS: Mapping[str, Callable[[DesignOptions], Design]] = MappingProxyType(
    {
        "classic": _classic,
        "learner": _learner,
        "streams": _streams,
        "connect": _connect,
        "connect-eager": _connect_eager,
    }
)

#: The designs that groups of each kind can be planned by, by their group protocol; the first is what they do.
OF_GROUP_PROTOCOL: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "classic": ("classic", "learner"),
        "streams": ("streams",),
        "connect": ("connect", "connect-eager"),
    }
)
