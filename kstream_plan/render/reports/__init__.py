"""What ``check --report`` writes, by format. To add one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kstream_plan.findings import Check
from kstream_plan.render.reports.github_report import github_report
from kstream_plan.render.reports.json_report import json_report
from kstream_plan.render.reports.junit_report import junit_report
from kstream_plan.render.reports.markdown_report import markdown_report

REPORTS: Mapping[str, Callable[[Check], str]] = MappingProxyType(
    {"json": json_report, "markdown": markdown_report, "junit": junit_report, "github": github_report}
)
