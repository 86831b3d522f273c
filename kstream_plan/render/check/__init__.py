"""What ``check --report`` writes, by format. To add one is a file, a function and a line here.

A format is imported when it is asked for: a gate in CI starts often, and most of its runs write one or none.
Each is put together of what it says of every plan, which may be made where the plan is: that is far less than the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from kstream_plan.policy.findings import Check, CheckedPlan, Tally


class Form(NamedTuple):
    """A format: what it says of a plan, of which a warning fails the check or not, and how all of that makes a report.

    Plans stand worst first.
    """

    part: Callable[[CheckedPlan, bool], Any]
    whole: Callable[[Sequence[Any], Tally], str]


def _json() -> Form:
    from kstream_plan.render.check.json_form import json_of, plan_json  # noqa: PLC0415 - only this format

    return Form(plan_json, json_of)


def _markdown() -> Form:
    from kstream_plan.render.check.markdown import markdown_of, plan_comment  # noqa: PLC0415 - only this format

    return Form(lambda checkup, _: plan_comment(checkup), markdown_of)


def _junit() -> Form:
    from kstream_plan.render.check.junit import junit_of, plan_suite  # noqa: PLC0415 - only this format

    return Form(plan_suite, junit_of)


def _github() -> Form:
    from kstream_plan.render.check.github import github_of, plan_annotations  # noqa: PLC0415 - only this format

    return Form(lambda checkup, _: plan_annotations(checkup), github_of)


def _html() -> Form:
    from kstream_plan.render.report.check_section import check_html_of  # noqa: PLC0415 - only this format

    return Form(lambda checkup, _: checkup, check_html_of)  # which plans are drawn is not known before all are there


FORMS: Mapping[str, Callable[[], Form]] = MappingProxyType(
    {"json": _json, "markdown": _markdown, "junit": _junit, "github": _github, "html": _html}
)


def _report(name: str, check: Check) -> str:
    form = FORMS[name]()
    return form.whole([form.part(checkup, check.fail_on_warning) for checkup in check.plans], check.tally)


REPORTS: Mapping[str, Callable[[Check], str]] = MappingProxyType({name: partial(_report, name) for name in FORMS})
