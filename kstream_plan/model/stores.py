"""Where an application keeps the state of its tasks, as its settings tell."""

from __future__ import annotations

from collections.abc import Mapping

from kstream_plan.model.snapshot import Stores

#: The settings that tell it, the stronger one first, with ``_`` for ``.``.
STORE_SETTINGS = ("dsl_store_suppliers_class", "default_dsl_store")


def stores_of(settings: Mapping[str, object]) -> Stores | None:
    """Return where stores are by an application's settings; ``None``: they do not say."""
    for name in STORE_SETTINGS:
        value = str(settings.get(name) or "").lower().replace("_", "")
        if "inmemory" in value:
            return "in-memory"
        if "rocksdb" in value:
            return "persistent"
    return None
