"""Words on a screen that ``help WORD`` need not explain."""

#: Heads that explain themselves.
PLAIN = {
    *("", "#", "From", "To", "Which", "Where", "Change", "Figure", "Step", "Set", "Way", "Time (UTC)", "Over all"),
    *("Moved", "Started", "Stopped", "Threads", "Protocol", "Plan", "Planned", "Happened", "Old plan", "New plan"),
    *("Rule", "Limit", "Before", "Afterwards", "At the end", "Other instances", "Other workers"),
}
