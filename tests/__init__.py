"""Tests; with ``KSTREAM_PLAN_PLAIN=1`` the engine is plain Python in all of them, whatever is installed."""

import os

from tests.helpers.engine_modes import take_plain_engine

if os.environ.get("KSTREAM_PLAN_PLAIN"):
    take_plain_engine()
