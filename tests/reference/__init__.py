"""Kafka's own assignor, ported literally: the judge of the engine, above all when its forms become one.

It knows nothing of ``kstream_plan``: it reads cases of ``tests/vectors`` and answers in their form. Classes, methods
and their order are Kafka's (3.9.1, 4.0 and 4.3.1 decide alike), Java's collections included wherever their order shows.
It is meant to be read beside Kafka's source and to be slow: what the engine does cleverly is done here step by step.
The engine has to decide as it does; it has to decide as was recorded of Kafka itself.
"""
