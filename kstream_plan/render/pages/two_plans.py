"""The page of two plans of one snapshot: their figures side by side."""

from __future__ import annotations

from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.page import Page, Table, columns_of, text_cell, text_row
from kstream_plan.render.pages.plan import plan_page, settings_fact
from kstream_plan.render.pages.plan_rounds import PlanView
from kstream_plan.render.text.names import Names


def two_plans_page(old: Plan | Simulation, new: Plan | Simulation) -> Page:
    """Return the figures of both plans side by side, of simulations those of all random ones."""
    pages = [plan_page(answer) for answer in (old, new)]
    plans = [answer if isinstance(answer, Plan) else answer.plan for answer in (old, new)]
    names = Names(plans[0].group)
    facts = [
        {fact.key: fact for fact in (*page.facts, settings_fact(PlanView(plan, names)))}
        for plan, page in zip(plans, pages, strict=True)
    ]
    labels = {key: fact.label for of_plan in facts for key, fact in of_plan.items()}
    rows = tuple(
        text_row(label, *(text_cell(*of_plan[key][2:]) if key in of_plan else "" for of_plan in facts))
        for key, label in labels.items()
    )
    return Page(
        title=f"{names.escape(plans[0].group.application_id)}: two plans of one snapshot",
        sentences=("Both plans begin with the same snapshot: this is what each of them comes to.",),
        source=pages[0].source,
        tables=(Table("Figures of each plan", columns_of("Figure", "Old plan", "New plan"), rows),),
    )
