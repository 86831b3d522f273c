"""The decision of an application's own assignor, which brings a group to where a target file puts every task."""
