"""What ``check --report`` writes, by format. To add one is a file with two functions, and a line here.

A format is imported when it is asked for: a gate in CI starts often, and most of its runs write one or none.
Each is put together of what it says of every plan, which may be made where the plan is: that is far less than the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from kstream_plan.policy.findings import Check, CheckedPlan, Tally

#: Format → where its ``part_of`` a plan and its ``report_of`` all parts are.
_MODULES = {
    "json": "kstream_plan.render.check.json_form",
    "markdown": "kstream_plan.render.check.markdown",
    "junit": "kstream_plan.render.check.junit",
    "github": "kstream_plan.render.check.github",
    "html": "kstream_plan.render.report.check_section",
}


class Form(NamedTuple):
    """A format: what it says of a plan, of which a warning fails the check or not, and how all of that makes a report.

    Plans stand worst first.
    """

    part_of: Callable[[CheckedPlan, bool], Any]
    report_of: Callable[[Sequence[Any], Tally], str]


def form_of(name: str) -> Form:
    """Return a format by its name."""
    module = import_module(_MODULES[name])
    return Form(module.part_of, module.report_of)


def _report(name: str, check: Check) -> str:
    form = form_of(name)
    return form.report_of([form.part_of(checkup, check.fail_on_warning) for checkup in check.plans], check.tally)


REPORTS: Mapping[str, Callable[[Check], str]] = MappingProxyType({name: partial(_report, name) for name in _MODULES})


def json_report(check: Check) -> str:
    """Return what a check found as JSON: one line of ASCII with its end; keys sorted."""
    return _report("json", check)


def markdown_report(check: Check) -> str:
    """Return the comment: what could not be checked; per plan a heading and a line per violation; its rounds folded."""
    return _report("markdown", check)
