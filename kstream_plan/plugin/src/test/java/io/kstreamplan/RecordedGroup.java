package io.kstreamplan;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.state.HostInfo;

/** The group of a recorded decision, as Kafka hands it to an assignor. */
final class RecordedGroup implements ApplicationState {
    final String application;
    final String leader;
    private final AssignmentConfigs settings;
    private final Map<TaskId, TaskInfo> tasks = new HashMap<>();
    private final Map<ProcessId, KafkaStreamsState> members = new HashMap<>();

    RecordedGroup(JsonNode group) {
        application = group.get("application").asText();
        leader = group.get("leader").asText(null);
        JsonNode config = group.get("config");
        settings = new AssignmentConfigs(
            config.get("acceptable_recovery_lag").asLong(), config.get("max_warmup_replicas").asInt(),
            config.get("num_standby_replicas").asInt(), config.get("probing_rebalance_interval_ms").asLong(),
            texts(config.get("tags")));
        tasks(group.get("stateful")).forEach(id -> tasks.put(id, new Task(id, true)));
        tasks(group.get("stateless")).forEach(id -> tasks.put(id, new Task(id, false)));
        group.get("members").forEach(row -> {
            Member member = new Member(row);
            members.put(member.id, member);
        });
    }

    static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(text -> texts.add(text.asText()));
        return texts;
    }

    static SortedSet<TaskId> tasks(JsonNode list) {
        SortedSet<TaskId> tasks = new TreeSet<>();
        list.forEach(id -> tasks.add(TaskId.parse(id.asText())));
        return tasks;
    }

    @Override
    public Map<ProcessId, KafkaStreamsState> kafkaStreamsStates(boolean computeTaskLags) {
        return members;
    }

    @Override
    public AssignmentConfigs assignmentConfigs() {
        return settings;
    }

    @Override
    public Map<TaskId, TaskInfo> allTasks() {
        return tasks;
    }

    private static final class Task implements TaskInfo {
        private final TaskId id;
        private final boolean hasChangelog;

        private Task(TaskId id, boolean hasChangelog) {
            this.id = id;
            this.hasChangelog = hasChangelog;
        }

        @Override
        public TaskId id() {
            return id;
        }

        @Override
        public boolean isStateful() {
            return true; // as Kafka says of stores without a changelog as well
        }

        @Override
        public Set<String> stateStoreNames() {
            return Set.of("store");
        }

        @Override
        public Set<TaskTopicPartition> topicPartitions() {
            return Set.of(new Partition(id.partition(), hasChangelog));
        }
    }

    private static final class Partition implements TaskTopicPartition {
        private final int partition;
        private final boolean isChangelog;

        private Partition(int partition, boolean isChangelog) {
            this.partition = partition;
            this.isChangelog = isChangelog;
        }

        @Override
        public TopicPartition topicPartition() {
            return new TopicPartition("topic", partition);
        }

        @Override
        public boolean isSource() {
            return !isChangelog;
        }

        @Override
        public boolean isChangelog() {
            return isChangelog;
        }

        @Override
        public Optional<Set<String>> rackIds() {
            return Optional.empty();
        }
    }

    private static final class Member implements KafkaStreamsState {
        private final ProcessId id;
        private final int threads;
        private final SortedMap<String, String> tags = new TreeMap<>();
        private final Optional<HostInfo> host;
        private final SortedSet<String> consumers;
        private final SortedSet<TaskId> owned;
        private final SortedSet<TaskId> state;
        private final Map<TaskId, Long> lags = new HashMap<>();

        private Member(JsonNode row) {
            id = new ProcessId(UUID.fromString(row.get("id").asText()));
            threads = row.get("threads").asInt();
            row.get("tags").fieldNames().forEachRemaining(tag -> tags.put(tag, row.get("tags").get(tag).asText()));
            host = Optional.ofNullable(row.get("host").asText(null)).map(HostInfo::buildFromEndpoint);
            consumers = new TreeSet<>(texts(row.get("consumers")));
            owned = tasks(row.get("owned"));
            state = tasks(row.get("state"));
            row.get("lags").fieldNames().forEachRemaining(
                task -> lags.put(TaskId.parse(task), row.get("lags").get(task).asLong()));
        }

        @Override
        public ProcessId processId() {
            return id;
        }

        @Override
        public int numProcessingThreads() {
            return threads;
        }

        @Override
        public SortedSet<String> consumerClientIds() {
            return consumers;
        }

        @Override
        public SortedSet<TaskId> previousActiveTasks() {
            return owned;
        }

        @Override
        public SortedSet<TaskId> previousStandbyTasks() {
            return state;
        }

        @Override
        public long lagFor(TaskId task) {
            return lags.get(task);
        }

        @Override
        public SortedSet<TaskId> prevTasksByLag(String consumer) {
            return state;
        }

        @Override
        public Map<TaskId, Long> statefulTasksToLagSums() {
            return lags;
        }

        @Override
        public Optional<HostInfo> hostInfo() {
            return host;
        }

        @Override
        public Map<String, String> clientTags() {
            return tags;
        }

        @Override
        public Optional<String> rackId() {
            return Optional.empty();
        }
    }
}
