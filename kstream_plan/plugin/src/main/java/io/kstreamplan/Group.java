package io.kstreamplan;

import java.util.*;
import java.util.function.*;
import java.util.stream.IntStream;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.*;

/** The group as its leader sees it at a decision. Tasks are numbered by subtopology and partition, members by id. */
final class Group {
    /** The number of no member and of no task. */
    static final int NONE = -1;
    private static final long RUNNING = -2; // the lag that Kafka reports of a task that runs
    private static final long MISSING = -1;

    final AssignmentConfigs settings;
    final TaskId[] tasks;
    /** The tasks with a changelog; Kafka's isStateful() counts stores without one as well. */
    final int[] stateful;
    final boolean[] isStateful;
    final KafkaStreamsState[] members;
    final int[] threads;
    /** By member: the tasks of the partitions that it owns as it joins. */
    final BitSet[] owned;
    /** By member: other stateful tasks whose offset it reported, be they standbys, warm-ups or left-over state. */
    final BitSet[] state;
    /** By task: the first member that owns it, or NONE. */
    final int[] owners;
    /** By stateful task and member; below 0 if none was reported, or the task runs there. */
    final long[][] lags;
    private final Map<TaskId, Integer> numbers = new HashMap<>();

    Group(ApplicationState application) {
        settings = application.assignmentConfigs();
        tasks = application.allTasks().keySet().stream().sorted(Comparator.comparingInt(TaskId::subtopology)
            .thenComparingInt(TaskId::partition)).toArray(TaskId[]::new);
        isStateful = new boolean[tasks.length];
        for (int task = 0; task < tasks.length; task++) {
            numbers.put(tasks[task], task);
            isStateful[task] = application.allTasks().get(tasks[task]).topicPartitions().stream()
                .anyMatch(TaskTopicPartition::isChangelog);
        }
        stateful = tasks(task -> isStateful[task]);
        members = application.kafkaStreamsStates(true).values().stream()
            .sorted(Comparator.comparing(KafkaStreamsState::processId)).toArray(KafkaStreamsState[]::new);
        threads = Arrays.stream(members).mapToInt(member -> Math.max(1, member.numProcessingThreads())).toArray();
        owned = Arrays.stream(members).map(member -> numbers(member.previousActiveTasks())).toArray(BitSet[]::new);
        state = Arrays.stream(members).map(member -> numbers(member.previousStandbyTasks())).toArray(BitSet[]::new);
        owners = IntStream.range(0, tasks.length).map(task -> least(member -> owned[member].get(task))).toArray();
        lags = new long[tasks.length][members.length];
        for (int member = 0; member < members.length; member++) {
            Map<TaskId, Long> reported = members[member].statefulTasksToLagSums();
            for (int task : stateful) {
                Long lag = reported.get(tasks[task]);
                lags[task][member] = lag == null ? MISSING : lag;
            }
        }
    }

    int[] tasks(IntPredicate condition) {
        return IntStream.range(0, tasks.length).filter(condition).toArray();
    }

    /** The number of a task, NONE if the group has no such task. */
    int number(TaskId id) {
        return numbers.getOrDefault(id, NONE);
    }

    /** The numbers of those tasks that the group has. */
    BitSet numbers(Collection<TaskId> ids) {
        BitSet numbers = new BitSet(tasks.length);
        ids.stream().mapToInt(this::number).filter(task -> task != NONE).forEach(numbers::set);
        return numbers;
    }

    /** How far a member is from running a stateful task: 0 if it is caught up, most if that is unknown. */
    long rank(int task, int member) {
        long lag = lags[task][member];
        if (lag < 0) {
            return lag == RUNNING || owners[task] == member ? 0 : Long.MAX_VALUE;
        }
        return lag <= settings.acceptableRecoveryLag() ? 0 : lag;
    }

    /** The smallest of the allowed members by one order after the other, at last by number; NONE if none is allowed. */
    int least(IntPredicate allowed, IntBinaryOperator... orders) {
        int least = NONE;
        for (int member = 0; member < members.length; member++) {
            if (allowed.test(member)) {
                int order = least == NONE ? -1 : 0;
                for (int at = 0; at < orders.length && order == 0; at++) {
                    order = orders[at].applyAsInt(member, least);
                }
                least = order < 0 ? member : least;
            }
        }
        return least;
    }

    static IntBinaryOperator by(IntToLongFunction key) {
        return (a, b) -> Long.compare(key.applyAsLong(a), key.applyAsLong(b));
    }

    /** The order by count per thread, exactly. */
    IntBinaryOperator perThread(int[] counts) {
        return (a, b) -> Long.compare((long) counts[a] * threads[b], (long) counts[b] * threads[a]);
    }
}
