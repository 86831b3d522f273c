"""A simulation as GitHub-flavoured Markdown: what the table shows, for a pull request or a ticket."""

from __future__ import annotations

from kstream_plan.plans.simulated import Simulation
from kstream_plan.render.plan.markdown import every_step, fact_list, heading
from kstream_plan.render.report.picture import picture_markdown
from kstream_plan.render.simulation.story import tell_simulation
from kstream_plan.render.text.escape import MARKDOWN
from kstream_plan.render.text.names import Names


def simulation_markdown(simulated: Simulation, *, verbose: bool = False, record_size: int | None = None) -> str:
    """Return a simulation as Markdown, its lines ended; arguments as of :func:`simulation_table`."""
    names = Names(simulated.plan.group, MARKDOWN)
    story = tell_simulation(simulated, names, record_size)
    blocks = [heading(story.title), fact_list(story.facts)]
    if story.picture is not None:
        blocks += [picture_markdown(story.picture), f"**{story.ending}**"]
    told = [*story.events, *([f"**CURE** {story.cure}"] if story.cure else [])]
    told += [f"**IF** {of.setting}={' | '.join(of.outcomes)}{of.remark}" for of in story.alternatives]
    told += [f"⚠ {remark}" for remark in story.remarks]
    blocks += ["\n".join(f"- {text}" for text in told)] if told else []
    blocks += every_step(simulated.plan, names) if verbose and simulated.plan.rounds else []
    return "\n\n".join(blocks) + "\n"
