"""``prepare``: what the first runs leave for later ones, made at once."""

from __future__ import annotations

import compileall
import sys
from pathlib import Path

import kstream_plan
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options.parameters import Options, takes
from kstream_plan.cli.output import write_stdout
from kstream_plan.cli.progress import show_progress
from kstream_plan.render.answers import to_table
from kstream_plan.simulation.one_plan import plan_checked


class PrepareOptions(Options):
    """What ``prepare`` is asked: nothing of its own."""


@takes(PrepareOptions)
def prepare(options: PrepareOptions) -> None:
    """Archive Java's classes, and compile the modules of this package and those that it has loaded."""
    with expected_failures(debug=options.debug), show_progress(quiet=options.quiet) as progress:
        from kstream_plan.snapshots.spark.prepare import prepare as archive_classes  # noqa: PLC0415 - loads Spark

        snapshot, archives = archive_classes(progress)
        to_table(plan_checked(snapshot))
        progress("compiling Python's modules")
        is_compiled = _compile_modules()
    size = sum(archive.stat().st_size for archive in archives) / 1e6
    write_stdout(f"Java's classes: {size:.0f} MB in {archives[0].parent}\n")
    modules = "compiled" if is_compiled else "not all compiled: this user may not write where they are installed"
    write_stdout(f"Python's modules: {modules}\n")


def _compile_modules() -> bool:
    """Return True if all are compiled, as installers may have left them."""
    is_compiled = bool(compileall.compile_dir(Path(kstream_plan.__file__).parent, quiet=2))
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    return all([is_compiled, *(compileall.compile_file(file, quiet=2) for file in files if file.endswith(".py"))])
