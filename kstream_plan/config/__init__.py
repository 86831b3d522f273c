"""What people write by hand: settings files, durations and rates, read into the planner's own values."""

from kstream_plan.config.client_properties import load_client_properties
from kstream_plan.config.instance_names import load_instance_names
from kstream_plan.config.quantities import parse_duration, parse_rate
from kstream_plan.config.scenario_file import load_scenario, read_scenario
from kstream_plan.config.streams_config import StreamsConfigFile, load_streams_config, with_overrides

__all__ = [
    "StreamsConfigFile",
    "load_client_properties",
    "load_instance_names",
    "load_scenario",
    "load_streams_config",
    "parse_duration",
    "parse_rate",
    "read_scenario",
    "with_overrides",
]
