package io.kstreamplan;

import io.kstreamplan.TargetFile.Refused;
import java.time.*;
import java.util.*;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.*;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;
import org.slf4j.*;

/**
 * Assigns tasks as a target file of kstream-plan says, a copy caught up first; without a file, by equal shares.
 *
 * <p>It is the task.assignor.class of all instances, and kstream.plan.file names the file. It reads that file at every
 * decision and nothing else, remembers nothing, never throws, and never leaves a task out.
 */
public final class PlanTaskAssignor implements TaskAssignor {
    /** The setting that names the file. */
    public static final String FILE = "kstream.plan.file";
    private static final Logger LOG = LoggerFactory.getLogger(PlanTaskAssignor.class);

    private final Clock clock;
    private Map<String, ?> settings = Map.of();

    /** For Kafka Streams. */
    public PlanTaskAssignor() {
        this(Clock.systemUTC());
    }

    PlanTaskAssignor(Clock clock) {
        this.clock = clock;
    }

    @Override
    public void configure(Map<String, ?> configured) {
        settings = configured;
    }

    @Override
    public TaskAssignment assign(ApplicationState application) {
        try {
            Decision decision = decide(application);
            TaskAssignment assignment = assignment(decision);
            String fault = fault(application, assignment);
            if (fault == null) {
                if (LOG.isInfoEnabled()) {
                    LOG.info(decision.course());
                    LOG.info(decision.assignment());
                }
                return assignment;
            }
            LOG.error("kstream-plan: {}; Kafka's StickyTaskAssignor decides", fault);
        } catch (Throwable failure) { // what leaves this method stops every client of the group
            LOG.error("kstream-plan: could not decide; Kafka's StickyTaskAssignor decides", failure);
        }
        return new StickyTaskAssignor().assign(application);
    }

    /** Decides from the file, or without one if it does not count. */
    Decision decide(ApplicationState application) {
        Group group = new Group(application);
        Instant now = clock.instant();
        String file = setting(FILE);
        Target target;
        try {
            target = Target.of(TargetFile.read(file), group, setting("application.id"), now);
        } catch (Refused refused) {
            if (file != null) {
                LOG.warn("kstream-plan: not following {}: {}", file, refused.getMessage());
            }
            target = Balance.target(group, refused.getMessage());
        }
        return new Decision(group, target, now, setting("client.id"));
    }

    private String setting(String name) {
        return settings.get(name) == null ? null : settings.get(name).toString();
    }

    /** A decision in Kafka's form. */
    static TaskAssignment assignment(Decision decision) {
        List<KafkaStreamsAssignment> assignments = new ArrayList<>();
        for (KafkaStreamsState member : decision.group.members) {
            assignments.add(KafkaStreamsAssignment.of(member.processId(), Set.of()));
        }
        for (int task = 0; task < decision.active.length; task++) {
            TaskId id = decision.group.tasks[task];
            assignments.get(decision.active[task]).assignTask(new AssignedTask(id, AssignedTask.Type.ACTIVE));
            decision.copies[task].stream().mapToObj(assignments::get)
                .forEach(holder -> holder.assignTask(new AssignedTask(id, AssignedTask.Type.STANDBY)));
        }
        if (decision.again != null) {
            assignments.set(decision.carrier, assignments.get(decision.carrier).withFollowupRebalance(decision.again));
        }
        return new TaskAssignment(assignments);
    }

    /** What is wrong with an assignment, or null. Kafka's own check does not notice a task that is missing. */
    static String fault(ApplicationState application, TaskAssignment assignment) {
        AssignmentError error = TaskAssignmentUtils.validateTaskAssignment(application, assignment);
        Set<TaskId> missing = new TreeSet<>(application.allTasks().keySet());
        assignment.assignment().forEach(member -> member.tasks().values().stream()
            .filter(task -> task.type() == AssignedTask.Type.ACTIVE).forEach(task -> missing.remove(task.id())));
        return error != AssignmentError.NONE ? "Kafka refused the assignment: " + error
            : missing.isEmpty() ? null : "the assignment leaves out " + missing;
    }
}
