"""What ``check --report`` writes, by format. To add one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kstream_plan.policy.findings import Check
from kstream_plan.render.check.github import github_report
from kstream_plan.render.check.json_form import json_report
from kstream_plan.render.check.junit import junit_report
from kstream_plan.render.check.markdown import markdown_report

REPORTS: Mapping[str, Callable[[Check], str]] = MappingProxyType(
    {"json": json_report, "markdown": markdown_report, "junit": junit_report, "github": github_report}
)
