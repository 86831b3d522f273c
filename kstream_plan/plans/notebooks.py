"""Results that show themselves in a notebook, and give themselves as tables.

Nothing here knows pages or tables: the public API hands in who does (:data:`shows`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: Called with ``html``, or the name of a table, and a result; ``None``: nothing is shown.
shows: Callable[[str, object], Any] | None = None


class InNotebooks:
    """A result of the public API. ``tables`` names what it gives as tables, the usual one first."""

    __slots__ = ()

    tables: ClassVar[tuple[str, ...]] = ()

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows of it."""
        return None if shows is None else str(shows("html", self))

    def to_arrow(self, table: str = "") -> pa.Table:
        """Return one of :attr:`tables`, by name (default: the first), with what the JSON says.

        Raises:
            ValueError: it has no such table.
        """
        name = table or self.tables[0]
        if name not in self.tables:
            raise ValueError(f"{table!r} is not one of {', '.join(self.tables)}")
        assert shows is not None, "it was not made by the public API"
        return shows(name, self)

    def to_pandas(self, table: str = "") -> pd.DataFrame:
        """Return the same as a frame of pandas, which has to be installed.

        Raises:
            ValueError: it has no such table.
            ModuleNotFoundError: pandas is not installed.
        """
        return self.to_arrow(table).to_pandas()
