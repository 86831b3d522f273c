"""The mistakes of one file, gathered so that all of them are told at once, as one error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, TypeVar

from kstream_plan.errors import KstreamPlanError, merge_errors

_Item = TypeVar("_Item")
_Value = TypeVar("_Value")
_Other = TypeVar("_Other")

#: Nobody corrects more before trying again.
_MOST = 20


class Mistakes:
    """A ``with`` block that reads on after a mistake, and ends in one error of all that were noted.

    What the block itself raises is one of them, the last; what is read with :meth:`read` or :meth:`each`, or handed to
    :meth:`note`, does not end it, unless there are more than anybody corrects.
    """

    def __init__(self) -> None:
        self._found: list[KstreamPlanError] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: TracebackType | None) -> None:
        if raised is None:
            self.tell()
        elif isinstance(raised, KstreamPlanError) and raised not in self._found:
            self._found.append(raised)
            raise merge_errors(self._found) from None

    @property
    def flawless(self) -> bool:
        """Whether there is no mistake yet."""
        return not self._found

    def note(self, mistake: KstreamPlanError) -> None:
        """Tell this mistake, and those that it stands for, at the end.

        Raises:
            KstreamPlanError: these are enough.
        """
        self._found.append(mistake)
        if sum(1 + len(one.also) for one in self._found) >= _MOST:
            self.tell()

    def tell(self) -> None:
        """Raise what was noted as one error, if anything was."""
        if self._found:
            raise merge_errors(self._found)

    def read(self, read: Callable[[], _Value], otherwise: _Other) -> _Value | _Other:
        """Return what is read; if that is a mistake, ``otherwise``, which nobody gets to see."""
        try:
            return read()
        except KstreamPlanError as mistake:
            self.note(mistake)
            return otherwise

    def each(self, items: Iterable[_Item], read: Callable[[_Item], _Value]) -> list[_Value]:
        """Return what is read of every item, without those that are mistakes."""
        values = []
        for item in items:
            try:
                values.append(read(item))
            except KstreamPlanError as mistake:
                self.note(mistake)
        return values
