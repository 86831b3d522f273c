package org.apache.kafka.coordinator.group.streams;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.coordinator.group.streams.topics.ConfiguredInternalTopic;
import org.apache.kafka.coordinator.group.streams.topics.ConfiguredSubtopology;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Reference oracle: feeds JSON cases to the broker's own (unmodified) assignor of streams groups, one line each.
 * Arguments: how often each case is assigned. An answer has the target, and the CPU time of every time.
 * Lives in this package only because the tasks of a topology and some of their classes are package-private.
 */
public final class StreamsOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(final String[] args) throws Exception {
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        final PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            final JsonNode c = JSON.readTree(line);
            final ObjectNode answer = JSON.createObjectNode().put("id", c.get("id").asText());
            final ArrayNode seconds = answer.putArray("cpu_s");
            for (int i = 0; i < Integer.parseInt(args[0]); i++) {
                final ReleasedAssignor assignor = new ReleasedAssignor(c, topology(c.get("topology")));
                final long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                final Map<String, TasksTuple> target = assignor.assign();
                seconds.add((ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - start) / 1e9);
                if (i == 0) {
                    answer.set("members", shown(target));
                }
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    private static SortedMap<String, ConfiguredSubtopology> topology(final JsonNode subtopologies) {
        final SortedMap<String, ConfiguredSubtopology> found = new TreeMap<>();
        for (final JsonNode of : subtopologies) {
            final int partitions = of.get("partitions").asInt();
            final Map<String, ConfiguredInternalTopic> changelogs = new HashMap<>();
            if (of.get("stateful").asBoolean()) {
                changelogs.put("c", new ConfiguredInternalTopic("c", partitions, Optional.empty(), Map.of()));
            }
            found.put(of.get("id").asText(), new ConfiguredSubtopology(partitions, Set.of("in"), Map.of(), Set.of(), changelogs));
        }
        return found;
    }

    /** Tasks of a case, by subtopology. */
    static Map<String, Set<Integer>> tasks(final JsonNode names) {
        final Map<String, Set<Integer>> found = new HashMap<>();
        for (final JsonNode name : names) {
            final String task = name.asText();
            final int at = task.lastIndexOf('_');
            found.computeIfAbsent(task.substring(0, at), of -> new HashSet<>()).add(Integer.parseInt(task.substring(at + 1)));
        }
        return found;
    }

    private static ObjectNode shown(final Map<String, TasksTuple> target) {
        final ObjectNode members = JSON.createObjectNode();
        target.forEach((member, of) -> {
            final ObjectNode shown = members.putObject(member);
            add(shown.putArray("a"), of.activeTasks());
            add(shown.putArray("s"), of.standbyTasks());
        });
        return members;
    }

    private static void add(final ArrayNode names, final Map<String, Set<Integer>> tasks) {
        tasks.forEach((of, partitions) -> partitions.forEach(partition -> names.add(of + "_" + partition)));
    }
}
