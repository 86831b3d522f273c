"""Designs: how one kind of group coordinates. A file or a package each, and one line in :data:`DESIGNS`.

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
    def target(self) -> bytes | None:
        """What is in the target file that the assignor ``planned`` follows; ``None``: there is none."""
        ...

    @property
    def max_learners(self) -> int | None:
        """How many tasks learners learn at once at most, by the draft; ``None``: no limit."""
        ...

    @property
    def scale_down_timeout_ms(self) -> int:
        """After how long a leaving instance is gone at the latest, by the draft."""
        ...

    @property
    def connect_delay_ms(self) -> int | None:
        """For how long Connect's Designs II and III wait; ``None``: as long as workers are configured to."""
        ...

    @property
    def connect_defer_join(self) -> bool:
        """Whether Design II waits as well before it takes away what is too much."""
        ...

    @property
    def connect_step(self) -> int:
        """How many connectors, and how many tasks, Design III takes away at once at most."""
        ...

    @property
    def connect_pause_ms(self) -> int:
        """For how long Design III then takes nothing away."""
        ...


def _classic(options: DesignOptions) -> Design:
    from kstream_plan.assignors.planned.target_file import TargetNow  # noqa: PLC0415 - reading plans needs none of it
    from kstream_plan.designs.classic.design import Classic  # noqa: PLC0415 - as above

    return Classic(options.assignor, options.protocol, target=TargetNow(options.target))


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
    from kstream_plan.designs.connect_eager import ConnectEager  # noqa: PLC0415 - as above

    return ConnectEager()


def _connect_design_1(_options: DesignOptions) -> Design:
    from kstream_plan.designs.connect_design_1 import ConnectDesign1  # noqa: PLC0415 - as above

    return ConnectDesign1()


def _connect_design_2(options: DesignOptions) -> Design:
    from kstream_plan.designs.connect_design_2 import ConnectDesign2  # noqa: PLC0415 - as above

    return ConnectDesign2(options.connect_delay_ms, options.connect_defer_join)


def _connect_design_3(options: DesignOptions) -> Design:
    from kstream_plan.designs.connect_design_3 import ConnectDesign3  # noqa: PLC0415 - as above

    return ConnectDesign3(options.connect_delay_ms, options.connect_step, options.connect_pause_ms)


#: Every design by its name: options → the design.
DESIGNS: Mapping[str, Callable[[DesignOptions], Design]] = MappingProxyType(
    {
        "classic": _classic,
        "learner": _learner,
        "streams": _streams,
        "connect": _connect,
        "connect-eager": _connect_eager,
        "connect-design-1": _connect_design_1,
        "connect-design-2": _connect_design_2,
        "connect-design-3": _connect_design_3,
    }
)

#: The designs that groups of each kind can be planned by, by their group protocol; the first is what they do.
OF_GROUP_PROTOCOL: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "classic": ("classic", "learner"),
        "streams": ("streams",),
        "connect": ("connect", "connect-eager", "connect-design-1", "connect-design-2", "connect-design-3"),
    }
)
