"""Results of the public API in a notebook, as a part of a page."""

from __future__ import annotations

from kstream_plan.render.report.markup import section_html
from kstream_plan.render.report.sections import section_of


def result_html(result: object) -> str:
    """Return a result as HTML that runs nothing."""
    return section_html(section_of(result, is_single=False))
