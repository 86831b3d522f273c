"""Files with a format: plans, histories, policies, scenarios and settings, read and written."""
