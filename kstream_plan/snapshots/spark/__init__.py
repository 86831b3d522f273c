"""Reading through Spark: the only package that imports it, and itself imported only when files are read."""

import warnings

# PySpark warns at every start of a pandas newer than it knows. Nothing here goes through pandas; the solver brings it.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
