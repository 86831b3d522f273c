package io.kstreamplan;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;

/**
 * Measures the CPU time of decisions: java -cp ... io.kstreamplan.Speed TASKS MEMBERS; a new JVM for each size, so that
 * the first decision is that of a leader that has just started.
 */
final class Speed {
    private Speed() {}

    public static void main(String[] arguments) throws IOException {
        int tasks = Integer.parseInt(arguments[0]);
        int members = Integer.parseInt(arguments[1]);
        LargeGroup large = new LargeGroup(tasks, members);
        Path file = Files.writeString(Files.createTempFile("target", ".properties"), large.file);
        PlanTaskAssignor planned = new PlanTaskAssignor();
        planned.configure(Map.of(PlanTaskAssignor.FILE, file.toString(), "application.id", "large"));
        System.out.println(tasks + " tasks, " + members + " members");
        report("by a file", () -> planned.assign(large.group));
        report("without a file", () -> new PlanTaskAssignor().assign(large.group));
        Files.delete(file);
    }

    private static void report(String name, Supplier<TaskAssignment> decide) {
        double[] seconds = new double[7];
        for (int run = 0; run < seconds.length; run++) {
            long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            decide.get();
            seconds[run] = (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before) / 1e9;
        }
        double first = seconds[0];
        Arrays.sort(seconds);
        System.out.printf("%s: first decision %.2fs, median %.2fs of CPU%n", name, first, seconds[seconds.length / 2]);
    }
}
