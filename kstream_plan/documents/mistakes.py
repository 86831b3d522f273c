"""The mistakes of one file, gathered so that all of them are raised at once, as one error."""

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

    A mistake that the block itself raises is the last one. One that :meth:`read`, :meth:`read_each` or :meth:`note`
    takes does not end the block, unless there are more than anybody corrects.
    """

    def __init__(self) -> None:
        self._mistakes: list[KstreamPlanError] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: TracebackType | None) -> None:
        if raised is None:
            self.raise_all()
        elif isinstance(raised, KstreamPlanError) and raised not in self._mistakes:
            self._mistakes.append(raised)
            raise merge_errors(self._mistakes) from None

    @property
    def flawless(self) -> bool:
        """Whether there is no mistake yet."""
        return not self._mistakes

    def note(self, mistake: KstreamPlanError) -> None:
        """Raise this mistake, and those that it stands for, at the end.

        Raises:
            KstreamPlanError: these are enough.
        """
        self._mistakes.append(mistake)
        if sum(1 + len(noted.also) for noted in self._mistakes) >= _MOST:
            self.raise_all()

    def raise_all(self) -> None:
        """Raise the noted mistakes as one error, if there are any."""
        if self._mistakes:
            raise merge_errors(self._mistakes)

    def read(self, read: Callable[[], _Value], default: _Other) -> _Value | _Other:
        """Return what is read; ``default`` if that is a mistake."""
        try:
            return read()
        except KstreamPlanError as mistake:
            self.note(mistake)
            return default

    def read_each(self, items: Iterable[_Item], read: Callable[[_Item], _Value]) -> list[_Value]:
        """Return what is read of every item; mistakes are noted and left out."""
        values = []
        for item in items:
            try:
                values.append(read(item))
            except KstreamPlanError as mistake:
                self.note(mistake)
        return values
