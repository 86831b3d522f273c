package org.apache.kafka.streams.processor.internals.assignment;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.InternalTopicManager;
import org.apache.kafka.streams.processor.internals.TopologyMetadata.Subtopology;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/** What the releases 3.6 and 3.7 know of racks, of a case as Oracle takes it. */
final class EarlierRacks {
    private static final Node NO_RACK = new Node(100000, "host-norack", 9092);

    private EarlierRacks() { }

    static RackAwareTaskAssignor of(final JsonNode given, final AssignorConfiguration.AssignmentConfigs configs) {
        final Map<String, Node> brokers = new HashMap<>();
        final Map<TaskId, Set<TopicPartition>> sources = new HashMap<>();
        final Map<TaskId, Set<TopicPartition>> changelogs = new HashMap<>();
        final Map<Subtopology, Set<TaskId>> bySubtopology = new HashMap<>();
        final Map<TopicPartition, PartitionInfo> inputs = new LinkedHashMap<>();
        final Map<String, List<TopicPartitionInfo>> described = new HashMap<>();
        for (final JsonNode node : given.get("tasks")) {
            final String[] parts = node.get("id").asText().split("_");
            final TaskId task = new TaskId(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]));
            bySubtopology.computeIfAbsent(new Subtopology(task.subtopology(), null), x -> new HashSet<>()).add(task);
            sources.put(task, new HashSet<>());
            partitions(node, "source_partitions", "source-", task).forEach((partition, racks) -> {
                final Node[] replicas = replicas(racks, brokers);
                sources.get(task).add(partition);
                inputs.putIfAbsent(partition, new PartitionInfo(partition.topic(), partition.partition(),
                    replicas.length > 0 ? replicas[0] : null, replicas, replicas));
                describe(described, partition, replicas);
            });
            if (node.path("stateful").asBoolean()) {
                changelogs.put(task, new HashSet<>());
                partitions(node, "changelog_partitions", "changelog-", task).forEach((partition, racks) -> {
                    changelogs.get(task).add(partition);
                    describe(described, partition, replicas(racks, brokers));
                });
            }
        }
        final Map<UUID, Map<String, Optional<String>>> racksOf = new HashMap<>();
        for (final JsonNode client : given.get("clients")) {
            final Optional<String> rack = client.hasNonNull("rack_id") ? Optional.of(client.get("rack_id").asText()) : Optional.empty();
            final Map<String, Optional<String>> byConsumer = new HashMap<>();
            client.get("consumers").forEach(consumer -> byConsumer.put(consumer.asText(), rack));
            racksOf.put(UUID.fromString(client.get("process_id").asText()), byConsumer);
        }
        final Set<Node> nodes = new HashSet<>(brokers.values());
        nodes.add(NO_RACK);
        final Cluster cluster = new Cluster("cluster", nodes, inputs.values(), Collections.emptySet(), Collections.emptySet());
        return new RackAwareTaskAssignor(cluster, sources, changelogs, bySubtopology, racksOf, topics(described), configs, Time.SYSTEM);
    }

    private static Map<TopicPartition, JsonNode> partitions(final JsonNode task, final String field, final String topic, final TaskId id) {
        final Map<TopicPartition, JsonNode> found = new LinkedHashMap<>();
        if (task.hasNonNull(field)) {
            task.get(field).forEach(node ->
                found.put(new TopicPartition(node.get("topic").asText(), node.get("partition").asInt()), node.get("racks")));
        } else {
            found.put(new TopicPartition(topic + id.subtopology(), id.partition()), null);
        }
        return found;
    }

    private static Node[] replicas(final JsonNode racks, final Map<String, Node> brokers) {
        if (racks == null || racks.isNull()) {
            return new Node[] {NO_RACK};
        }
        final List<Node> found = new ArrayList<>();
        racks.forEach(rack -> found.add(rack.isNull() ? NO_RACK
            : brokers.computeIfAbsent(rack.asText(), name -> new Node(brokers.size(), "host-" + name, 9092, name))));
        return found.toArray(new Node[0]);
    }

    private static void describe(final Map<String, List<TopicPartitionInfo>> described, final TopicPartition partition, final Node[] replicas) {
        final List<TopicPartitionInfo> of = described.computeIfAbsent(partition.topic(), x -> new ArrayList<>());
        if (of.stream().noneMatch(info -> info.partition() == partition.partition())) {
            of.add(new TopicPartitionInfo(partition.partition(), replicas.length > 0 ? replicas[0] : null,
                Arrays.asList(replicas), Collections.emptyList()));
        }
    }

    private static InternalTopicManager topics(final Map<String, List<TopicPartitionInfo>> described) {
        final Map<String, Object> settings = new HashMap<>();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "oracle");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:1");
        return new InternalTopicManager(Time.SYSTEM, null, new StreamsConfig(settings)) {
            @Override
            public Map<String, List<TopicPartitionInfo>> getTopicPartitionInfo(final Set<String> topics) {
                final Map<String, List<TopicPartitionInfo>> found = new HashMap<>();
                topics.stream().filter(described::containsKey).forEach(topic -> found.put(topic, described.get(topic)));
                return found;
            }
        };
    }
}
