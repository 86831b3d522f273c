"""The parts of kafka-python that are used, loaded when they are needed, or one clear error."""

from __future__ import annotations

from types import SimpleNamespace

from kstream_plan.errors import ClusterError

#: Older ones do not tell a refused login from a lost connection, and try it again and again.
_OLDEST = (3, 0, 12)


def kafka() -> SimpleNamespace:
    """Return what is used of kafka-python.

    Raises:
        ClusterError: it is not installed, or too old.
    """
    try:
        import kafka as package  # noqa: PLC0415 - an extra, and it takes its time
        from kafka import errors  # noqa: PLC0415
        from kafka.protocol.admin import DescribeGroupsRequest  # noqa: PLC0415
    except ImportError:
        raise _missing("kafka-python is not installed") from None
    version = str(package.__version__)
    if tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) < _OLDEST:
        raise _missing(f"kafka-python {version} is too old")
    return SimpleNamespace(
        errors=errors,
        DescribeGroupsRequest=DescribeGroupsRequest,
        KafkaAdminClient=package.KafkaAdminClient,
        KafkaConsumer=package.KafkaConsumer,
        TopicPartition=package.TopicPartition,
    )


def _missing(what: str) -> ClusterError:
    return ClusterError(f"a cluster cannot be asked: {what}", fix="pip install 'kstream-plan[kafka]'")
