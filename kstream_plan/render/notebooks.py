"""Results of the public API in a notebook, as a part of a page."""

from __future__ import annotations

from kstream_plan.comparison.alternatives import Outcomes
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.report.markup import section_html
from kstream_plan.render.report.sections import answer_section, compare_section


def result_html(result: Plan | Simulation | Outcomes) -> str:
    """Return a result as HTML that runs nothing."""
    if isinstance(result, Outcomes):
        return section_html(compare_section(result))
    plan = result.plan if isinstance(result, Simulation) else result
    return section_html(answer_section(result, plan, is_single=False))
