"""What ``check --report`` writes, by format. To add one is a file, a function and a line here.

A format is imported when it is asked for: a gate in CI starts often, and most of its runs write one or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kstream_plan.policy.findings import Check


def _json(check: Check) -> str:
    from kstream_plan.render.check.json_form import json_report  # noqa: PLC0415 - only this format

    return json_report(check)


def _markdown(check: Check) -> str:
    from kstream_plan.render.check.markdown import markdown_report  # noqa: PLC0415 - only this format

    return markdown_report(check)


def _junit(check: Check) -> str:
    from kstream_plan.render.check.junit import junit_report  # noqa: PLC0415 - only this format

    return junit_report(check)


def _github(check: Check) -> str:
    from kstream_plan.render.check.github import github_report  # noqa: PLC0415 - only this format

    return github_report(check)


def _html(check: Check) -> str:
    from kstream_plan.render.report.check_section import check_html  # noqa: PLC0415 - only this format

    return check_html(check)


REPORTS: Mapping[str, Callable[[Check], str]] = MappingProxyType(
    {"json": _json, "markdown": _markdown, "junit": _junit, "github": _github, "html": _html}
)
