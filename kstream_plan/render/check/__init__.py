"""What ``check --report`` writes, by format. To add one is a file with two functions, and a line here.

A format is imported when it is asked for: a gate in CI starts often, and most of its runs write one or none.
Each is put together of what it says of every plan, which may be made where the plan is: that is far less than the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

from kstream_plan.policy.findings import Check

#: Format → where its ``part_of`` a plan and its ``report_of`` all parts are.
_MODULES = {
    "json": "kstream_plan.render.check.json_form",
    "markdown": "kstream_plan.render.check.markdown",
    "junit": "kstream_plan.render.check.junit",
    "github": "kstream_plan.render.check.github",
    "html": "kstream_plan.render.report.check_section",
}


def form_of(name: str) -> Any:
    """Return a format by its name.

    ``part_of``: what it says of a plan, of which a warning fails the check or not.
    ``report_of``: how all of that, of the worst plan first, and the tally make a report.
    """
    return import_module(_MODULES[name])


def _report(name: str, check: Check) -> str:
    form = form_of(name)
    parts = [form.part_of(checkup, check.fail_on_warning) for checkup in check.plans]
    return str(form.report_of(parts, check.tally))


REPORTS: Mapping[str, Callable[[Check], str]] = MappingProxyType({name: partial(_report, name) for name in _MODULES})
