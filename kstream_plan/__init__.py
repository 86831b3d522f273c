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

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kstream_plan.assignment_config import AssignmentConfig as AssignmentConfig
    from kstream_plan.compare import compare as diff
    from kstream_plan.config.client_properties import load_client_properties as load_client_properties
    from kstream_plan.config.scenario_file import load_scenario as load_scenario
    from kstream_plan.config.streams_config import load_streams_config as load_streams_config
    from kstream_plan.config.streams_config import with_overrides as with_overrides
    from kstream_plan.errors import KstreamPlanError as KstreamPlanError
    from kstream_plan.model import Assignment as Assignment
    from kstream_plan.model import Snapshot as Snapshot
    from kstream_plan.planner import assign_once as assign
    from kstream_plan.render.diff_json import diff_json as diff_to_json
    from kstream_plan.render.diff_markdown import diff_markdown as diff_to_markdown
    from kstream_plan.render.diff_table import diff_table as diff_to_table
    from kstream_plan.render.markdown import markdown as to_markdown
    from kstream_plan.render.plan_json import plan_json as to_json
    from kstream_plan.render.simulation import simulation_table as simulation_to_table
    from kstream_plan.render.simulation_json import simulation_json as simulation_to_json
    from kstream_plan.render.table import table as to_table
    from kstream_plan.scenario import Scenario as Scenario
    from kstream_plan.sides import plan_course as plan_course
    from kstream_plan.sides import plan_side as plan_side
    from kstream_plan.sides import snapshot_side as snapshot_side
    from kstream_plan.snapshots import read as read
    from kstream_plan.snapshots.leader_log.history import read_leader_logs as read_leader_logs
    from kstream_plan.snapshots.live_group.kafka_cluster import KafkaCluster as KafkaCluster
    from kstream_plan.snapshots.live_group.source import group_history as group_history
    from kstream_plan.snapshots.live_group.source import running_group as running_group
    from kstream_plan.snapshots.live_group.topology_text import read_topology as read_topology
    from kstream_plan.snapshots.plan_files import read_plan_file as load_plans
    from kstream_plan.steps import Plan as Plan
    from kstream_plan.studies.checked import plan_checked as plan
    from kstream_plan.studies.drain import drain as drain
    from kstream_plan.studies.scale_out import scale_out as scale_out
    from kstream_plan.studies.simulation import Simulation as Simulation
    from kstream_plan.studies.simulation import simulate as simulate

#: Public name → (module, name in it).
_PUBLIC = {
    "Assignment": ("kstream_plan.model", "Assignment"),
    "AssignmentConfig": ("kstream_plan.assignment_config", "AssignmentConfig"),
    "KafkaCluster": ("kstream_plan.snapshots.live_group.kafka_cluster", "KafkaCluster"),
    "KstreamPlanError": ("kstream_plan.errors", "KstreamPlanError"),
    "Plan": ("kstream_plan.steps", "Plan"),
    "Scenario": ("kstream_plan.scenario", "Scenario"),
    "Simulation": ("kstream_plan.studies.simulation", "Simulation"),
    "Snapshot": ("kstream_plan.model", "Snapshot"),
    "assign": ("kstream_plan.planner", "assign_once"),
    "diff": ("kstream_plan.compare", "compare"),
    "diff_to_json": ("kstream_plan.render.diff_json", "diff_json"),
    "diff_to_markdown": ("kstream_plan.render.diff_markdown", "diff_markdown"),
    "diff_to_table": ("kstream_plan.render.diff_table", "diff_table"),
    "drain": ("kstream_plan.studies.drain", "drain"),
    "group_history": ("kstream_plan.snapshots.live_group.source", "group_history"),
    "load_client_properties": ("kstream_plan.config.client_properties", "load_client_properties"),
    "load_scenario": ("kstream_plan.config.scenario_file", "load_scenario"),
    "load_plans": ("kstream_plan.snapshots.plan_files", "read_plan_file"),
    "load_streams_config": ("kstream_plan.config.streams_config", "load_streams_config"),
    "plan": ("kstream_plan.studies.checked", "plan_checked"),
    "plan_course": ("kstream_plan.sides", "plan_course"),
    "plan_side": ("kstream_plan.sides", "plan_side"),
    "read": ("kstream_plan.snapshots", "read"),
    "read_leader_logs": ("kstream_plan.snapshots.leader_log.history", "read_leader_logs"),
    "read_topology": ("kstream_plan.snapshots.live_group.topology_text", "read_topology"),
    "running_group": ("kstream_plan.snapshots.live_group.source", "running_group"),
    "snapshot_side": ("kstream_plan.sides", "snapshot_side"),
    "scale_out": ("kstream_plan.studies.scale_out", "scale_out"),
    "simulate": ("kstream_plan.studies.simulation", "simulate"),
    "simulation_to_json": ("kstream_plan.render.simulation_json", "simulation_json"),
    "simulation_to_table": ("kstream_plan.render.simulation", "simulation_table"),
    "to_json": ("kstream_plan.render.plan_json", "plan_json"),
    "to_markdown": ("kstream_plan.render.markdown", "markdown"),
    "to_table": ("kstream_plan.render.table", "table"),
    "with_overrides": ("kstream_plan.config.streams_config", "with_overrides"),
}

__all__ = [
    "Assignment",
    "AssignmentConfig",
    "KafkaCluster",
    "KstreamPlanError",
    "Plan",
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
