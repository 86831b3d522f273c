"""A command's options, a frozen dataclass, as the parameters that Typer reads.

Its bases are the groups of options that the command shares with others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, TypeVar, dataclass_transform, get_type_hints

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(of: type[T]) -> type[T]:
    """Make a class of options a frozen dataclass.

    It has no ``__slots__``, of which Python lets only one base have some, and no ``==``: nobody compares options, and
    every method that is generated is a millisecond more before a command begins.
    """
    return dataclass(frozen=True, kw_only=True, eq=False)(of)


def names_and_defaults(group: type) -> Mapping[str, Any]:
    """Return the options of a group that may be left out, and what they are then."""
    return {field.name: field.default for field in fields(group) if field.default is not MISSING}


def option_of(name: str) -> str:
    """Return how a parameter is written on the command line: ``--add-at`` for ``add_at``."""
    return f"--{name.replace('_', '-')}"


def takes(of: type[T]) -> Callable[[Callable[[T], None]], Callable[..., None]]:
    """Let a command take the options ``of`` a class, its own first and then its groups', in the order of the bases.

    The command is called with all of them as one value.
    """
    kinds = get_type_hints(of, include_extras=True)
    defaults = {field.name: field.default for field in fields(of)}  # type: ignore[arg-type]
    parameters = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if defaults[name] is MISSING else defaults[name],
            annotation=kinds[name],
        )
        for group in of.__mro__
        for name in vars(group).get("__annotations__", ())
    ]

    def extended(command: Callable[[T], None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            command(of(**given))

        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return extended
