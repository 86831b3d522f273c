package io.kstreamplan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.AssignmentConfigs;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever happens, nothing is thrown and no task is left out. */
class SafetyTest {
    private static final LargeGroup LARGE = new LargeGroup(40, 5);

    @TempDir
    private Path folder;

    @Test
    void anExceptionLeavesTheDecisionToTheStickyAssignor() {
        for (Throwable failure : List.of(new IllegalStateException("boom"), new StackOverflowError("boom"))) {
            ApplicationState group = new Group(LARGE.group) {
                @Override
                public Map<ProcessId, KafkaStreamsState> kafkaStreamsStates(boolean computeTaskLags) {
                    if (computeTaskLags) {
                        SafetyTest.<RuntimeException>raise(failure);
                    }
                    return super.kafkaStreamsStates(false);
                }
            };
            Logged<TaskAssignment> logged = logged(() -> new PlanTaskAssignor().assign(group));
            assertEquals(texts(new StickyTaskAssignor().assign(LARGE.group)), texts(logged.result));
            assertTrue(logged.text.contains("ERROR io.kstreamplan.PlanTaskAssignor - kstream-plan: could not decide"));
            assertTrue(logged.text.contains("boom"), logged.text);
        }
    }

    @Test
    void aDecisionThatLeavesOutATaskLeavesItToTheStickyAssignor() {
        Map<TaskId, TaskInfo> fewer = new HashMap<>(LARGE.group.allTasks());
        fewer.remove(new TaskId(3, 1));
        int[] calls = {0};
        ApplicationState group = new Group(LARGE.group) {
            @Override
            public Map<TaskId, TaskInfo> allTasks() {
                return calls[0]++ <= fewer.size() ? fewer : super.allTasks(); // those of the decision, then all
            }
        };
        Logged<TaskAssignment> logged = logged(() -> new PlanTaskAssignor().assign(group));
        assertEquals(texts(new StickyTaskAssignor().assign(LARGE.group)), texts(logged.result));
        assertTrue(logged.text.contains("ERROR io.kstreamplan.PlanTaskAssignor - kstream-plan: "
            + "the assignment leaves out [3_1]; Kafka's StickyTaskAssignor decides"), logged.text);
    }

    @Test
    void whatKafkaRefusesIsAFault() {
        TaskAssignment decided = new PlanTaskAssignor().assign(LARGE.group);
        assertNull(PlanTaskAssignor.fault(LARGE.group, decided));
        List<KafkaStreamsAssignment> all = List.copyOf(decided.assignment());
        TaskAssignment oneLess = new TaskAssignment(all.subList(1, all.size()));
        assertEquals("Kafka refused the assignment: MISSING_PROCESS_ID", PlanTaskAssignor.fault(LARGE.group, oneLess));
        all.get(1).assignTask(all.get(0).tasks().values().stream()
            .filter(task -> task.type() == AssignedTask.Type.ACTIVE).findFirst().orElseThrow());
        assertEquals("Kafka refused the assignment: ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES",
            PlanTaskAssignor.fault(LARGE.group, decided));
    }

    @Test
    void whatIsNoFileDoesNotCount() throws IOException {
        List<String> names = List.of(folder.toString(), folder.resolve("none").toString(), "", "\0", "/dev/zero");
        for (String name : names) {
            Logged<TaskAssignment> logged = logged(() -> follower(name).assign(LARGE.group));
            assertTrue(logged.text.contains("WARN io.kstreamplan.PlanTaskAssignor - kstream-plan: not following " + name
                + ": no-file"), logged.text);
            assertFalse(logged.text.contains("ERROR"), logged.text);
        }
        Logged<TaskAssignment> unset = logged(() -> new PlanTaskAssignor().assign(LARGE.group));
        assertFalse(unset.text.contains("not following"), unset.text);
    }

    @Test
    void damagedFilesNeitherStopTheGroupNorLoseATask() throws IOException {
        Random random = new Random(7);
        byte[] whole = LARGE.file.getBytes(StandardCharsets.UTF_8);
        Path file = folder.resolve("target.properties");
        for (int n = 0; n < 1000; n++) {
            byte[] damaged = Arrays.copyOf(whole, n % 2 == 0 ? whole.length : random.nextInt(whole.length));
            for (int at = 0; at < n % 4 && damaged.length > 0; at++) {
                damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
            }
            Files.write(file, damaged);
            Logged<TaskAssignment> logged = logged(() -> follower(file.toString()).assign(LARGE.group));
            assertNull(PlanTaskAssignor.fault(LARGE.group, logged.result));
            assertFalse(logged.text.contains("ERROR"), logged.text);
        }
    }

    @Test
    void aDecisionIsLoggedAsReadersOfLeadersLogsExpectIt() throws IOException {
        Path file = Files.writeString(folder.resolve("target.properties"), LARGE.file);
        String text = logged(() -> follower(file.toString()).assign(LARGE.group)).text;
        String[] lines = text.split("\n");
        assertEquals(2, lines.length, text);
        assertTrue(lines[0].matches("INFO io\\.kstreamplan\\.PlanTaskAssignor - kstream-plan: plan 0123456789ab slots "
            + "\\{s0=[^}]*, s4=[0-9a-f-]{36}} moves \\d+ \\[.*] warm-ups \\d+ \\[.*] waiting \\d+ and \\d+ standbys, "
            + "again 2\\S+Z by [0-9a-f-]{36}"), lines[0]);
        assertTrue(lines[1].matches("INFO io\\.kstreamplan\\.PlanTaskAssignor - Decided on assignment: "
            + "\\{([0-9a-f-]{36}=\\[activeTasks: \\(\\[.*?]\\) standbyTasks: \\(\\[.*?]\\) "
            + "prevActiveTasks: \\(\\[.*?]\\) prevStandbyTasks: \\(\\[.*?]\\) changelogOffsetTotalsByTask: \\(\\[.*?]\\) "
            + "taskLagTotals: \\(\\[.*?]\\) "
            + "clientTags: \\(\\[zone=z\\d]\\) capacity: 2 assigned: \\d+](, )?){5}} "
            + "with followup probing rebalance\\."), lines[1]);
    }

    /** By an expression such a line took an hour; and only blanks, tabs and CR are left out at the ends of a line. */
    @Test
    void manyBlanksInALineTakeNoTime() throws Exception {
        String comment = "# " + " ".repeat(900_000 - LARGE.file.length()) + "x\n";
        Path file = Files.writeString(folder.resolve("blanks.properties"), comment + LARGE.file);
        assertEquals("large", TargetFile.read(file.toString()).application);
        Files.writeString(file, LARGE.file.replace("application=large\n", "application=large \u0085\n"));
        assertEquals("large \u0085", TargetFile.read(file.toString()).application);
    }

    @Test
    void membersWithoutTasksGetNone() {
        RecordedGroup empty = new LargeGroup(0, 3).group;
        assertEquals(3, new PlanTaskAssignor().assign(empty).assignment().size());
    }

    private PlanTaskAssignor follower(String file) {
        PlanTaskAssignor assignor = new PlanTaskAssignor();
        assignor.configure(Map.of(PlanTaskAssignor.FILE, file, "application.id", "large"));
        return assignor;
    }

    /** By process, its tasks; a follow-up is left out. */
    private static Map<String, Set<String>> texts(TaskAssignment assignment) {
        Map<String, Set<String>> texts = new TreeMap<>();
        assignment.assignment().forEach(member -> texts.put(member.processId().toString(), member.tasks().values()
            .stream().map(task -> task.type() + " " + task.id()).collect(Collectors.toSet())));
        return texts;
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void raise(Throwable failure) throws E {
        throw (E) failure;
    }

    private static final class Logged<T> {
        private final T result;
        private final String text;

        private Logged(T result, String text) {
            this.result = result;
            this.text = text;
        }
    }

    private static <T> Logged<T> logged(Supplier<T> call) {
        PrintStream before = System.err;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setErr(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            T result = call.get();
            return new Logged<>(result, bytes.toString(StandardCharsets.UTF_8));
        } finally {
            System.setErr(before);
        }
    }

    private static class Group implements ApplicationState {
        private final ApplicationState whole;

        private Group(ApplicationState whole) {
            this.whole = whole;
        }

        @Override
        public Map<ProcessId, KafkaStreamsState> kafkaStreamsStates(boolean computeTaskLags) {
            return whole.kafkaStreamsStates(computeTaskLags);
        }

        @Override
        public AssignmentConfigs assignmentConfigs() {
            return whole.assignmentConfigs();
        }

        @Override
        public Map<TaskId, TaskInfo> allTasks() {
            return whole.allTasks();
        }
    }
}
