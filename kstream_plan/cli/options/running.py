"""Where Spark runs, and the limits of reading: what commands take that read anything."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import Options
from kstream_plan.cli.options.shared import KeyValue, duration_option, key_value, parser
from kstream_plan.cli.panels import INPUT
from kstream_plan.documents.quantities import parse_size
from kstream_plan.snapshots.files.content import Limits, reading_within


class Spark(Options, panel=INPUT):
    """Where Spark runs, and on which Java."""

    spark_conf: Annotated[
        list[KeyValue] | None,
        typer.Option(
            "--spark-conf",
            hidden=True,
            metavar="K=V",
            parser=key_value,
            help="Spark setting, e.g. spark.master=spark://host:7077.",
        ),
    ] = None
    java_home: Annotated[
        Path | None,
        typer.Option(
            "--java-home",
            hidden=True,
            metavar="DIR",
            help="Java home for Spark, instead of the Java that was installed along.",
        ),
    ] = None

    @property
    def session(self) -> dict[str, Any]:
        """Where a Spark session runs, as everything takes it that reads through Spark."""
        return {
            "spark_conf": dict(self.spark_conf or ()),
            "java_home": None if self.java_home is None else str(self.java_home),
        }


class Limited(Options, panel=INPUT):
    """How long others are waited for, how much is read, and what is said meanwhile."""

    timeout: Annotated[
        int | None, duration_option("Longest wait for a silent pipe or broker (default: 15s).", rare=True)
    ] = None
    max_text: Annotated[
        int | None,
        typer.Option(
            "--max-text",
            hidden=True,
            metavar="SIZE",
            parser=parser(parse_size, 1),
            help="Largest text to read from one input, unpacked (default: 4GiB, packed files 256MiB).",
        ),
    ] = None

    quiet: shared.Quiet = False
    debug: shared.Debug = False

    @property
    def limits(self) -> Limits:
        """What holds while the command runs."""
        values = {"wait_ms": self.timeout, "text_bytes": self.max_text, "packed_bytes": self.max_text}
        return Limits(**{name: value for name, value in values.items() if value is not None})

    def in_force(self) -> AbstractContextManager[None]:
        """Return the context in which these limits hold."""
        return reading_within(self.limits)
