"""One row of a snapshot or of lags: its schema, its fields, and the model that they give."""
