"""Where Spark runs, and the limits of reading: what commands take that read anything."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from kstream_plan.cli.options.parameters import KeyValue, Options
from kstream_plan.cli.panels import INPUT
from kstream_plan.snapshots.files.content import Limits, reading_within


class Spark(Options, panel=INPUT):
    """Where Spark runs, and on which Java."""

    spark_conf: list[KeyValue] | None = None
    java_home: Path | None = None

    @property
    def session(self) -> dict[str, Any]:
        """Where a Spark session runs, as everything takes it that reads through Spark."""
        return {
            "spark_conf": dict(self.spark_conf or ()),
            "java_home": self.java_home and str(self.java_home),
        }


class Limited(Options, panel=INPUT):
    """How long others are waited for, and how much is read."""

    timeout: int | None = None
    max_text: int | None = None

    @property
    def limits(self) -> Limits:
        """What holds while the command runs."""
        values = {"wait_ms": self.timeout, "text_bytes": self.max_text, "packed_bytes": self.max_text}
        return Limits(**{name: value for name, value in values.items() if value is not None})

    def in_force(self) -> AbstractContextManager[None]:
        """Return the context in which these limits hold."""
        return reading_within(self.limits)
