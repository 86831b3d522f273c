"""The plan's JSON: its writer and its reader."""
