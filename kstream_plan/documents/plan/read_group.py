"""The group of a saved plan: its tasks and instances."""

from __future__ import annotations

from kstream_plan.documents.json_fields import JsonFields
from kstream_plan.model import Consumer, Group, Instance, Partition, Task, TaskId
from kstream_plan.model.settings import MAX_LONG


def read_group(document: JsonFields) -> Group:
    """Return who takes part in a plan, and its tasks.

    Raises:
        PlanFileError: a field is missing or of another type, or something is named twice.
    """
    tasks = [_task(item) for item in document["tasks"]]
    instances = [_instance(item) for item in document["instances"]]
    for field, ids in (
        ("tasks", [task.task_id for task in tasks]),
        ("instances", [instance.process_id for instance in instances]),
        ("instances", [consumer.consumer_id for instance in instances for consumer in instance.consumers]),
    ):
        if len(set(ids)) < len(ids):
            raise document[field].fail("name something twice")
    return Group.of(document["application_id"].text(), tasks, instances)


def _task(item: JsonFields) -> Task:
    task_id = item.parsed_at("task_id", TaskId.parse)
    end_offset_sum = item.integer_at("end_offset_sum")
    return Task(
        task_id=task_id,
        stateful=item.boolean_at("stateful"),
        end_offset_sum=MAX_LONG if end_offset_sum is None else end_offset_sum,
        end_offset_known=end_offset_sum is not None,
        source_partitions=tuple(Partition(topic, task_id.partition) for topic in item.texts_at("topics")),
    )


def _instance(item: JsonFields) -> Instance:
    return Instance(
        process_id=item["process_id"].text(),
        host=item.get("host").or_none(JsonFields.text),
        rack=item.get("rack").or_none(JsonFields.text),
        client_tags=tuple((name, value.text()) for name, value in item["client_tags"].items()),
        consumers=tuple(
            Consumer(
                consumer_id=consumer["consumer_id"].text(),
                group_instance_id=consumer.get("group_instance_id").or_none(JsonFields.text),
                protocols=tuple(protocol.text() for protocol in consumer["protocols"]),
            )
            for consumer in item["consumers"]
        ),
    )
