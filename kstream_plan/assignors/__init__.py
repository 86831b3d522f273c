"""Assignors: where the tasks should be next. One file each, and one line in :data:`ASSIGNORS`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import Protocol

from kstream_plan.assignors.laws import NEWEST, Laws, laws_of
from kstream_plan.assignors.planned.target_file import NO_TARGET, TargetNow
from kstream_plan.model import Assignment, GroupState
from kstream_plan.model.settings import AssignmentConfig


class Assign(Protocol):
    """Decides where every task of a group should be next."""

    def __call__(
        self,
        state: GroupState,
        config: AssignmentConfig,
        previous: tuple[GroupState, Assignment] | None = None,
        *,
        laws: Laws = NEWEST,
        target: TargetNow = NO_TARGET,
    ) -> Assignment:
        """Return the decision for ``state``.

        ``previous`` is an earlier decision for the same group under the same settings and the state it was made for.
        It saves work and changes nothing: the result is the same without it. ``laws``: what the release that runs
        decides otherwise than the newest. ``target`` is what assignors go by that follow a file.
        """
        ...


@dataclass(frozen=True, slots=True)
class Assignor:
    """How to decide, and what comes with it.

    ``optimal``: the target is balanced as KIP-441 asks for, subtopologies included, with the least state to restore. So
    its plans are shown beside the least that such a balance has to restore; others are held against their own loads.
    ``laws`` are those of :class:`Assign`. ``by_engine``: where one decision follows another the engine decides instead,
    the same (``engine.decision``).
    """

    assign: Assign
    optimal: bool = False
    by_engine: bool = False
    laws: Laws = NEWEST

    def of_release(self, release: str | None) -> Assignor:
        """Return the same as a release of Kafka has it; ``None``: it is unknown, and the newest counts."""
        return replace(self, laws=laws_of(release))

    def __call__(
        self,
        state: GroupState,
        config: AssignmentConfig,
        previous: tuple[GroupState, Assignment] | None = None,
        *,
        target: TargetNow = NO_TARGET,
    ) -> Assignment:
        """Return the decision, as :class:`Assign` does."""
        return self.assign(state, config, previous, laws=self.laws, target=target)


#: The assignor that follows a target file.
FOLLOWS_A_FILE = "planned"


def module_of(name: str) -> str:
    """Return the module of an assignor, which is imported when it first decides: where none does, nothing is loaded."""
    return f"kstream_plan.assignors.{name.replace('-', '_')}.assign"


def _loaded_then(name: str) -> Assign:
    def assign(
        state: GroupState,
        config: AssignmentConfig,
        previous: tuple[GroupState, Assignment] | None = None,
        *,
        laws: Laws = NEWEST,
        target: TargetNow = NO_TARGET,
    ) -> Assignment:
        target_argument = {"target": target} if name == FOLLOWS_A_FILE else {}
        assignment: Assignment = import_module(module_of(name)).assign(
            state, config, previous, laws=laws, **target_argument
        )
        return assignment

    return assign


#: Every assignor by the name that ``--set assignor`` takes; its package has the same name.
ASSIGNORS: Mapping[str, Assignor] = MappingProxyType(
    {
        "high-availability": Assignor(_loaded_then("high-availability"), by_engine=True),
        "balanced": Assignor(_loaded_then("balanced"), optimal=True),
        FOLLOWS_A_FILE: Assignor(_loaded_then(FOLLOWS_A_FILE)),
    }
)
#: What an assignor needs beside its name.
NEEDS: Mapping[str, str] = MappingProxyType({"balanced": "the extra [balanced]", FOLLOWS_A_FILE: "--set target=FILE"})


def with_needs(name: str) -> str:
    """Return an assignor with what it needs: ``balanced (needs the extra [balanced])``."""
    return f"{name} (needs {NEEDS[name]})" if name in NEEDS else name
