"""Tests; with ``KSTREAM_PLAN_UNCOMPILED=1`` the engine is plain Python in all of them, whatever is installed."""

import os

if os.environ.get("KSTREAM_PLAN_UNCOMPILED"):
    from tests.helpers.engine_modes import take_plain_engine

    take_plain_engine()
