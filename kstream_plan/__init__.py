"""Offline planner for Kafka Streams task assignment.

The command line's twin in Python::

    import kstream_plan

    for snapshot in kstream_plan.read(["before.json"]):
        plan = kstream_plan.plan(snapshot)
        print(kstream_plan.to_table(plan))

Everything named in ``__all__`` is public. Nothing is imported before it is used, and Spark only by :func:`read`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kstream_plan.version import __version__ as __version__

if TYPE_CHECKING:
    from kstream_plan.comparison.compare import compare as diff
    from kstream_plan.comparison.sides import plan_course as plan_course
    from kstream_plan.comparison.sides import plan_side as plan_side
    from kstream_plan.comparison.sides import snapshot_side as snapshot_side
    from kstream_plan.documents.client_properties import load_client_properties as load_client_properties
    from kstream_plan.documents.plan.files import read_plan_file as load_plans
    from kstream_plan.documents.plan.write import plan_json as to_json
    from kstream_plan.documents.scenario_file import load_scenario as load_scenario
    from kstream_plan.documents.streams_config import load_streams_config as load_streams_config
    from kstream_plan.documents.streams_config import with_overrides as with_overrides
    from kstream_plan.errors import KstreamPlanError as KstreamPlanError
    from kstream_plan.model import Assignment as Assignment
    from kstream_plan.model import Snapshot as Snapshot
    from kstream_plan.model.scenario import Scenario as Scenario
    from kstream_plan.model.settings import AssignmentConfig as AssignmentConfig
    from kstream_plan.planner.checked import plan_checked as plan
    from kstream_plan.planner.options import PlanOptions as PlanOptions
    from kstream_plan.planner.plan import assign_once as assign
    from kstream_plan.plans import Plan as Plan
    from kstream_plan.plans.simulated import Simulation as Simulation
    from kstream_plan.render.diff.json_form import diff_json as diff_to_json
    from kstream_plan.render.diff.markdown import diff_markdown as diff_to_markdown
    from kstream_plan.render.diff.table import diff_table as diff_to_table
    from kstream_plan.render.plan.markdown import markdown as to_markdown
    from kstream_plan.render.plan.table import table as to_table
    from kstream_plan.render.simulation.json_form import simulation_json as simulation_to_json
    from kstream_plan.render.simulation.table import simulation_table as simulation_to_table
    from kstream_plan.simulation.drain import drain as drain
    from kstream_plan.simulation.scale_out import scale_out as scale_out
    from kstream_plan.simulation.simulate import simulate as simulate
    from kstream_plan.snapshots import read as read
    from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster as KafkaCluster
    from kstream_plan.snapshots.broker.source import group_history as group_history
    from kstream_plan.snapshots.broker.source import running_group as running_group
    from kstream_plan.snapshots.broker.topology_text import read_topology as read_topology
    from kstream_plan.snapshots.leader_log.history import read_leader_logs as read_leader_logs

#: Public name → (module, name in it).
_PUBLIC = {
    "Assignment": ("kstream_plan.model", "Assignment"),
    "AssignmentConfig": ("kstream_plan.model.settings", "AssignmentConfig"),
    "KafkaCluster": ("kstream_plan.snapshots.broker.kafka_cluster", "KafkaCluster"),
    "KstreamPlanError": ("kstream_plan.errors", "KstreamPlanError"),
    "Plan": ("kstream_plan.plans", "Plan"),
    "PlanOptions": ("kstream_plan.planner.options", "PlanOptions"),
    "Scenario": ("kstream_plan.model.scenario", "Scenario"),
    "Simulation": ("kstream_plan.plans.simulated", "Simulation"),
    "Snapshot": ("kstream_plan.model", "Snapshot"),
    "assign": ("kstream_plan.planner.plan", "assign_once"),
    "diff": ("kstream_plan.comparison.compare", "compare"),
    "diff_to_json": ("kstream_plan.render.diff.json_form", "diff_json"),
    "diff_to_markdown": ("kstream_plan.render.diff.markdown", "diff_markdown"),
    "diff_to_table": ("kstream_plan.render.diff.table", "diff_table"),
    "drain": ("kstream_plan.simulation.drain", "drain"),
    "group_history": ("kstream_plan.snapshots.broker.source", "group_history"),
    "load_client_properties": ("kstream_plan.documents.client_properties", "load_client_properties"),
    "load_scenario": ("kstream_plan.documents.scenario_file", "load_scenario"),
    "load_plans": ("kstream_plan.documents.plan.files", "read_plan_file"),
    "load_streams_config": ("kstream_plan.documents.streams_config", "load_streams_config"),
    "plan": ("kstream_plan.planner.checked", "plan_checked"),
    "plan_course": ("kstream_plan.comparison.sides", "plan_course"),
    "plan_side": ("kstream_plan.comparison.sides", "plan_side"),
    "read": ("kstream_plan.snapshots", "read"),
    "read_leader_logs": ("kstream_plan.snapshots.leader_log.history", "read_leader_logs"),
    "read_topology": ("kstream_plan.snapshots.broker.topology_text", "read_topology"),
    "running_group": ("kstream_plan.snapshots.broker.source", "running_group"),
    "snapshot_side": ("kstream_plan.comparison.sides", "snapshot_side"),
    "scale_out": ("kstream_plan.simulation.scale_out", "scale_out"),
    "simulate": ("kstream_plan.simulation.simulate", "simulate"),
    "simulation_to_json": ("kstream_plan.render.simulation.json_form", "simulation_json"),
    "simulation_to_table": ("kstream_plan.render.simulation.table", "simulation_table"),
    "to_json": ("kstream_plan.documents.plan.write", "plan_json"),
    "to_markdown": ("kstream_plan.render.plan.markdown", "markdown"),
    "to_table": ("kstream_plan.render.plan.table", "table"),
    "with_overrides": ("kstream_plan.documents.streams_config", "with_overrides"),
}

__all__ = [
    "Assignment",
    "AssignmentConfig",
    "KafkaCluster",
    "KstreamPlanError",
    "Plan",
    "PlanOptions",
    "Scenario",
    "Simulation",
    "Snapshot",
    "__version__",
    "assign",
    "diff",
    "diff_to_json",
    "diff_to_markdown",
    "diff_to_table",
    "drain",
    "group_history",
    "load_client_properties",
    "load_plans",
    "load_scenario",
    "load_streams_config",
    "plan",
    "plan_course",
    "plan_side",
    "read",
    "read_leader_logs",
    "read_topology",
    "running_group",
    "scale_out",
    "simulate",
    "simulation_to_json",
    "simulation_to_table",
    "snapshot_side",
    "to_json",
    "to_markdown",
    "to_table",
    "with_overrides",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    """List the public names as well."""
    return sorted({*globals(), *__all__})
