"""Why a group does what it does, as people and programs read it."""
