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
    from kstream_plan.answers.upgrade import upgrade_json as upgrade_to_json
    from kstream_plan.cli.actions.variants import axes_of as vary
    from kstream_plan.comparison.alternatives import beside_each_other as beside_each_other
    from kstream_plan.comparison.beside_history import said_and_happened as said_and_happened
    from kstream_plan.comparison.diff import compare as diff
    from kstream_plan.comparison.sides import plan_course as plan_course
    from kstream_plan.comparison.sides import plan_side as plan_side
    from kstream_plan.comparison.sides import snapshot_side as snapshot_side
    from kstream_plan.documents.client_properties import load_client_properties as load_client_properties
    from kstream_plan.documents.plan.files import read_plan_file as load_plans
    from kstream_plan.documents.plan.simulation import simulation_json as simulation_to_json
    from kstream_plan.documents.plan.write import plan_json as to_json
    from kstream_plan.documents.policy_file import load_policy as load_policy
    from kstream_plan.documents.results import read_results as read_results
    from kstream_plan.documents.said_and_happened import read_said_and_happened as read_said_and_happened
    from kstream_plan.documents.scenario_file import load_scenario as load_scenario
    from kstream_plan.documents.streams_config import load_streams_config as load_streams_config
    from kstream_plan.documents.streams_config import with_overrides as with_overrides
    from kstream_plan.errors import KstreamPlanError as KstreamPlanError
    from kstream_plan.model import Assignment as Assignment
    from kstream_plan.model import Snapshot as Snapshot
    from kstream_plan.model.scenario import Scenario as Scenario
    from kstream_plan.model.settings import AssignmentConfig as AssignmentConfig
    from kstream_plan.planner.options import PlanOptions as PlanOptions
    from kstream_plan.plans import Plan as Plan
    from kstream_plan.plans.result import result_of as result_of
    from kstream_plan.plans.simulated import Simulation as Simulation
    from kstream_plan.policy.check import check_all as check_all
    from kstream_plan.policy.check import check_plan as check
    from kstream_plan.policy.findings import Standard as Standard
    from kstream_plan.policy.limits import Limit as Limit
    from kstream_plan.policy.limits import Policy as Policy
    from kstream_plan.protocols.upgrade import upgrade as upgrade
    from kstream_plan.render.answers import to_json as bounce_to_json
    from kstream_plan.render.answers import to_json as compare_to_json
    from kstream_plan.render.answers import to_json as diff_to_json
    from kstream_plan.render.answers import to_json as drain_to_json
    from kstream_plan.render.answers import to_json as said_and_happened_to_json
    from kstream_plan.render.answers import to_json as sessioned_to_json
    from kstream_plan.render.answers import to_json as switch_to_json
    from kstream_plan.render.answers import to_json as why_to_json
    from kstream_plan.render.answers import to_json as workers_drained_to_json
    from kstream_plan.render.answers import to_markdown as bounce_to_markdown
    from kstream_plan.render.answers import to_markdown as compare_to_markdown
    from kstream_plan.render.answers import to_markdown as diff_to_markdown
    from kstream_plan.render.answers import to_markdown as drain_to_markdown
    from kstream_plan.render.answers import to_markdown as said_and_happened_to_markdown
    from kstream_plan.render.answers import to_markdown as sessioned_to_markdown
    from kstream_plan.render.answers import to_markdown as simulation_to_markdown
    from kstream_plan.render.answers import to_markdown as switch_to_markdown
    from kstream_plan.render.answers import to_markdown as to_markdown
    from kstream_plan.render.answers import to_markdown as why_to_markdown
    from kstream_plan.render.answers import to_markdown as workers_drained_to_markdown
    from kstream_plan.render.answers import to_table as bounce_to_table
    from kstream_plan.render.answers import to_table as compare_to_table
    from kstream_plan.render.answers import to_table as diff_to_table
    from kstream_plan.render.answers import to_table as drain_to_table
    from kstream_plan.render.answers import to_table as said_and_happened_to_table
    from kstream_plan.render.answers import to_table as sessioned_to_table
    from kstream_plan.render.answers import to_table as simulation_to_table
    from kstream_plan.render.answers import to_table as switch_to_table
    from kstream_plan.render.answers import to_table as to_table
    from kstream_plan.render.answers import to_table as why_to_table
    from kstream_plan.render.answers import to_table as workers_drained_to_table
    from kstream_plan.render.check import json_report as check_to_json
    from kstream_plan.render.check import markdown_report as check_to_markdown
    from kstream_plan.render.check.table import table_report as check_to_table
    from kstream_plan.render.pages_as_text import fleet_markdown as fleet_to_markdown
    from kstream_plan.render.pages_as_text import fleet_table as fleet_to_table
    from kstream_plan.render.pages_as_text import upgrade_markdown as upgrade_to_markdown
    from kstream_plan.render.pages_as_text import upgrade_table as upgrade_to_table
    from kstream_plan.simulation.alternatives import alternatives as alternatives
    from kstream_plan.simulation.alternatives import saved_alternatives as saved_alternatives
    from kstream_plan.simulation.bounces import bounce as bounce
    from kstream_plan.simulation.cures import cures as cures
    from kstream_plan.simulation.drain import drain as drain
    from kstream_plan.simulation.drain_workers import drain_workers as drain_workers
    from kstream_plan.simulation.one_plan import assign_once as assign
    from kstream_plan.simulation.one_plan import plan_checked as plan
    from kstream_plan.simulation.scale_out import scale_out as scale_out
    from kstream_plan.simulation.sessioned import to_sessioned as to_sessioned
    from kstream_plan.simulation.simulate import simulate as simulate
    from kstream_plan.simulation.switch import switch as switch
    from kstream_plan.simulation.why import why as why
    from kstream_plan.snapshots import read as read
    from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster as KafkaCluster
    from kstream_plan.snapshots.broker.source import group_history as group_history
    from kstream_plan.snapshots.broker.source import running_group as running_group
    from kstream_plan.snapshots.broker.topology_text import read_topology as read_topology
    from kstream_plan.snapshots.connect_log.history import read_connect_logs as read_connect_logs
    from kstream_plan.snapshots.leader_log.history import read_leader_logs as read_leader_logs
    from kstream_plan.snapshots.metrics.measurements import read_measurements as read_measurements
    from kstream_plan.snapshots.metrics.overlay import with_measured_lags as with_measured_lags

#: Public name → (module, name in it).
_PUBLIC = {
    "Assignment": ("kstream_plan.model", "Assignment"),
    "AssignmentConfig": ("kstream_plan.model.settings", "AssignmentConfig"),
    "KafkaCluster": ("kstream_plan.snapshots.broker.kafka_cluster", "KafkaCluster"),
    "KstreamPlanError": ("kstream_plan.errors", "KstreamPlanError"),
    "Limit": ("kstream_plan.policy.limits", "Limit"),
    "Plan": ("kstream_plan.plans", "Plan"),
    "PlanOptions": ("kstream_plan.planner.options", "PlanOptions"),
    "Policy": ("kstream_plan.policy.limits", "Policy"),
    "Scenario": ("kstream_plan.model.scenario", "Scenario"),
    "Simulation": ("kstream_plan.plans.simulated", "Simulation"),
    "Snapshot": ("kstream_plan.model", "Snapshot"),
    "Standard": ("kstream_plan.policy.findings", "Standard"),
    "alternatives": ("kstream_plan.simulation.alternatives", "alternatives"),
    "assign": ("kstream_plan.simulation.one_plan", "assign_once"),
    "beside_each_other": ("kstream_plan.comparison.alternatives", "beside_each_other"),
    "check": ("kstream_plan.policy.check", "check_plan"),
    "check_all": ("kstream_plan.policy.check", "check_all"),
    "check_to_json": ("kstream_plan.render.check", "json_report"),
    "check_to_markdown": ("kstream_plan.render.check", "markdown_report"),
    "check_to_table": ("kstream_plan.render.check.table", "table_report"),
    "bounce": ("kstream_plan.simulation.bounces", "bounce"),
    "bounce_to_json": ("kstream_plan.render.answers", "to_json"),
    "bounce_to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "bounce_to_table": ("kstream_plan.render.answers", "to_table"),
    "compare_to_json": ("kstream_plan.render.answers", "to_json"),
    "compare_to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "compare_to_table": ("kstream_plan.render.answers", "to_table"),
    "cures": ("kstream_plan.simulation.cures", "cures"),
    "read_said_and_happened": ("kstream_plan.documents.said_and_happened", "read_said_and_happened"),
    "said_and_happened": ("kstream_plan.comparison.beside_history", "said_and_happened"),
    "said_and_happened_to_json": ("kstream_plan.render.answers", "to_json"),
    "said_and_happened_to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "said_and_happened_to_table": ("kstream_plan.render.answers", "to_table"),
    "diff": ("kstream_plan.comparison.diff", "compare"),
    "diff_to_json": ("kstream_plan.render.answers", "to_json"),
    "diff_to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "diff_to_table": ("kstream_plan.render.answers", "to_table"),
    "drain": ("kstream_plan.simulation.drain", "drain"),
    "drain_to_json": ("kstream_plan.render.answers", "to_json"),
    "drain_to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "drain_to_table": ("kstream_plan.render.answers", "to_table"),
    "drain_workers": ("kstream_plan.simulation.drain_workers", "drain_workers"),
    "workers_drained_to_json": ("kstream_plan.render.answers", "to_json"),
    "workers_drained_to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "workers_drained_to_table": ("kstream_plan.render.answers", "to_table"),
    "fleet_to_markdown": ("kstream_plan.render.pages_as_text", "fleet_markdown"),
    "fleet_to_table": ("kstream_plan.render.pages_as_text", "fleet_table"),
    "read_results": ("kstream_plan.documents.results", "read_results"),
    "result_of": ("kstream_plan.plans.result", "result_of"),
    "group_history": ("kstream_plan.snapshots.broker.source", "group_history"),
    "load_client_properties": ("kstream_plan.documents.client_properties", "load_client_properties"),
    "load_plans": ("kstream_plan.documents.plan.files", "read_plan_file"),
    "load_policy": ("kstream_plan.documents.policy_file", "load_policy"),
    "load_scenario": ("kstream_plan.documents.scenario_file", "load_scenario"),
    "load_streams_config": ("kstream_plan.documents.streams_config", "load_streams_config"),
    "plan": ("kstream_plan.simulation.one_plan", "plan_checked"),
    "plan_course": ("kstream_plan.comparison.sides", "plan_course"),
    "plan_side": ("kstream_plan.comparison.sides", "plan_side"),
    "read": ("kstream_plan.snapshots", "read"),
    "read_connect_logs": ("kstream_plan.snapshots.connect_log.history", "read_connect_logs"),
    "read_leader_logs": ("kstream_plan.snapshots.leader_log.history", "read_leader_logs"),
    "read_measurements": ("kstream_plan.snapshots.metrics.measurements", "read_measurements"),
    "read_topology": ("kstream_plan.snapshots.broker.topology_text", "read_topology"),
    "running_group": ("kstream_plan.snapshots.broker.source", "running_group"),
    "saved_alternatives": ("kstream_plan.simulation.alternatives", "saved_alternatives"),
    "scale_out": ("kstream_plan.simulation.scale_out", "scale_out"),
    "simulate": ("kstream_plan.simulation.simulate", "simulate"),
    "simulation_to_json": ("kstream_plan.documents.plan.simulation", "simulation_json"),
    "simulation_to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "simulation_to_table": ("kstream_plan.render.answers", "to_table"),
    "snapshot_side": ("kstream_plan.comparison.sides", "snapshot_side"),
    "sessioned_to_json": ("kstream_plan.render.answers", "to_json"),
    "sessioned_to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "sessioned_to_table": ("kstream_plan.render.answers", "to_table"),
    "switch": ("kstream_plan.simulation.switch", "switch"),
    "switch_to_json": ("kstream_plan.render.answers", "to_json"),
    "switch_to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "switch_to_table": ("kstream_plan.render.answers", "to_table"),
    "to_json": ("kstream_plan.documents.plan.write", "plan_json"),
    "to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "to_sessioned": ("kstream_plan.simulation.sessioned", "to_sessioned"),
    "to_table": ("kstream_plan.render.answers", "to_table"),
    "upgrade": ("kstream_plan.protocols.upgrade", "upgrade"),
    "upgrade_to_json": ("kstream_plan.answers.upgrade", "upgrade_json"),
    "upgrade_to_markdown": ("kstream_plan.render.pages_as_text", "upgrade_markdown"),
    "upgrade_to_table": ("kstream_plan.render.pages_as_text", "upgrade_table"),
    "vary": ("kstream_plan.cli.actions.variants", "axes_of"),
    "why": ("kstream_plan.simulation.why", "why"),
    "why_to_json": ("kstream_plan.render.answers", "to_json"),
    "why_to_markdown": ("kstream_plan.render.answers", "to_markdown"),
    "why_to_table": ("kstream_plan.render.answers", "to_table"),
    "with_measured_lags": ("kstream_plan.snapshots.metrics.overlay", "with_measured_lags"),
    "with_overrides": ("kstream_plan.documents.streams_config", "with_overrides"),
}

__all__ = [
    "Assignment",
    "AssignmentConfig",
    "KafkaCluster",
    "KstreamPlanError",
    "Limit",
    "Plan",
    "PlanOptions",
    "Policy",
    "Scenario",
    "Simulation",
    "Snapshot",
    "Standard",
    "__version__",
    "alternatives",
    "assign",
    "beside_each_other",
    "bounce",
    "bounce_to_json",
    "bounce_to_markdown",
    "bounce_to_table",
    "check",
    "check_all",
    "check_to_json",
    "check_to_markdown",
    "check_to_table",
    "compare_to_json",
    "compare_to_markdown",
    "compare_to_table",
    "cures",
    "diff",
    "diff_to_json",
    "diff_to_markdown",
    "diff_to_table",
    "drain",
    "drain_to_json",
    "drain_to_markdown",
    "drain_to_table",
    "drain_workers",
    "fleet_to_markdown",
    "fleet_to_table",
    "group_history",
    "load_client_properties",
    "load_plans",
    "load_policy",
    "load_scenario",
    "load_streams_config",
    "plan",
    "plan_course",
    "plan_side",
    "read",
    "read_connect_logs",
    "read_leader_logs",
    "read_measurements",
    "read_results",
    "read_said_and_happened",
    "read_topology",
    "result_of",
    "running_group",
    "said_and_happened",
    "said_and_happened_to_json",
    "said_and_happened_to_markdown",
    "said_and_happened_to_table",
    "saved_alternatives",
    "scale_out",
    "sessioned_to_json",
    "sessioned_to_markdown",
    "sessioned_to_table",
    "simulate",
    "simulation_to_json",
    "simulation_to_markdown",
    "simulation_to_table",
    "snapshot_side",
    "switch",
    "switch_to_json",
    "switch_to_markdown",
    "switch_to_table",
    "to_json",
    "to_markdown",
    "to_sessioned",
    "to_table",
    "upgrade",
    "upgrade_to_json",
    "upgrade_to_markdown",
    "upgrade_to_table",
    "vary",
    "why",
    "why_to_json",
    "why_to_markdown",
    "why_to_table",
    "with_measured_lags",
    "with_overrides",
    "workers_drained_to_json",
    "workers_drained_to_markdown",
    "workers_drained_to_table",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # results show themselves in notebooks by what knows pages and tables, which they do not
    vars(import_module("kstream_plan.plans.notebooks"))["shows"] = _show
    module, attribute = _PUBLIC[name]
    return getattr(import_module(module), attribute)


def _show(what: str, result: object) -> Any:
    if what == "html":
        return import_module("kstream_plan.render.notebooks").result_html(result)
    return import_module("kstream_plan.answers.tables").table(what, result)


def __dir__() -> list[str]:
    """List the public names as well."""
    return sorted({*globals(), *__all__})
