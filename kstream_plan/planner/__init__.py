"""The loop under the clock: decide, hand over, let time pass, record, until a group has settled."""
