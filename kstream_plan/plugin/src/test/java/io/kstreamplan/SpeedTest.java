package io.kstreamplan;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.streams.processor.assignment.TaskAssignor.TaskAssignment;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Measures the CPU time of decisions, their log lines included; see target/surefire-reports/…SpeedTest-output.txt. */
class SpeedTest {
    private static final int RUNS = 3;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource({"3000, 120", "10000, 250"})
    void decisionsOfLargeGroups(int tasks, int members) throws IOException {
        LargeGroup large = new LargeGroup(tasks, members);
        Path file = Files.writeString(folder.resolve("target.properties"), large.file);
        PlanTaskAssignor planned = new PlanTaskAssignor();
        planned.configure(Map.of(PlanTaskAssignor.FILE, file.toString(), "application.id", "large"));
        String group = tasks + " tasks, " + members + " members";
        report(group + ", by a file", () -> planned.assign(large.group));
        report(group + ", without a file", () -> new PlanTaskAssignor().assign(large.group));
    }

    private static void report(String name, Supplier<TaskAssignment> decide) {
        double[] seconds = new double[RUNS];
        PrintStream before = System.err;
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8)); // 30 MB of log
        for (int run = 0; run < RUNS; run++) {
            long begun = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            decide.get();
            seconds[run] = (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begun) / 1e9;
        }
        System.setErr(before);
        double first = seconds[0];
        Arrays.sort(seconds);
        System.out.printf("%s: first %.2fs, median %.2fs of CPU%n", name, first, seconds[RUNS / 2]);
    }
}
