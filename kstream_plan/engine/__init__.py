"""Kafka's laws on flat arrays: plain Python that Cython compiles where there is a C compiler."""
