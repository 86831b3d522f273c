"""Reading through Spark: the only package that imports it, and itself imported only when files are read."""
