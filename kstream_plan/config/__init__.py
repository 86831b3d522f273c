"""What people write by hand: settings files, durations and rates, read into the planner's own values."""
