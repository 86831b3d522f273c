"""Where an application keeps the state of its tasks, as its settings tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from kstream_plan.model.snapshot import Stores

#: The settings that tell it, the stronger one first, with ``_`` for ``.``.
STORE_SETTINGS = ("dsl_store_suppliers_class", "default_dsl_store")


#: Kafka's own values: those of the enumeration, and its classes of suppliers; in small letters.
_STORES: Mapping[str, Stores] = MappingProxyType(
    {
        "rocksdb": "persistent",
        "in_memory": "in-memory",
        "rocksdbdslstoresuppliers": "persistent",
        "inmemorydslstoresuppliers": "in-memory",
    }
)
_BUILT_IN = re.compile(r"org\.apache\.kafka\.streams\.state\.builtindslstoresuppliers[$.]")


def stores_of(settings: Mapping[str, object]) -> Stores | None:
    """Return where stores are by an application's settings; ``None``: they do not say, or an own supplier decides."""
    supplier = next((str(settings[name]).strip().lower() for name in STORE_SETTINGS if settings.get(name)), "")
    return _STORES.get(_BUILT_IN.sub("", supplier))
