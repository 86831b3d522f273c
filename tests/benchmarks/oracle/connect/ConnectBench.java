package org.apache.kafka.connect.runtime.distributed;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator.ConnectorsAndTasks;
import org.apache.kafka.connect.storage.ClusterConfigState;

import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Times of Kafka Connect's own decisions, of 3.4 and later. */
public final class ConnectBench {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ConnectBench() { }

    /** CPU time of the deciding thread, once for each repetition, of decisions about a group that is balanced before. */
    static void bench(int workers, int tasks, int connectors, int repetitions, PrintWriter out) throws Exception {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        Map<String, Integer> counts = new LinkedHashMap<>();
        for (int i = 0; i < connectors; i++)
            counts.put(String.format("connector-%05d", i), tasks / connectors);
        ClusterConfigState state = ConnectOracle.config(counts, Set.of(), 1);
        String[] names = new String[workers + workers / 10];
        for (int i = 0; i < names.length; i++)
            names[i] = String.format("connect-10.0.%d.%d:8083-%08x-0000-4000-8000-%012x", i / 256, i % 256, i * 2654435761L & 0xffffffffL, i);
        for (String scenario : List.of("steady", "scale-out", "departure", "departure-over")) {
            ObjectNode answer = JSON.createObjectNode().put("scenario", scenario);
            ArrayNode times = answer.putArray("cpu_ms");
            for (int repetition = 0; repetition < repetitions; repetition++) {
                ConnectOracle.Clock clock = new ConnectOracle.Clock();
                clock.now = 1;
                IncrementalCooperativeAssignor a = ConnectOracle.assignor(clock, 300000);
                Map<String, ConnectorsAndTasks> m = new HashMap<>();
                for (int i = 0; i < workers; i++)
                    m.put(names[i], new ConnectorsAndTasks.Builder().build());
                int generation = 1;
                IncrementalCooperativeAssignor.ClusterAssignment c = a.performTaskAssignment(state, 0, generation, m);
                Map<String, ConnectorsAndTasks> n = new HashMap<>();
                for (String w : m.keySet())
                    n.put(w, new ConnectorsAndTasks.Builder().with(c.allAssignedConnectors().get(w), c.allAssignedTasks().get(w)).build());
                if (scenario.equals("scale-out"))
                    for (int i = workers; i < names.length; i++)
                        n.put(names[i], new ConnectorsAndTasks.Builder().build());
                if (scenario.startsWith("departure"))
                    for (int i = 0; i < Math.max(1, workers / 10); i++)
                        n.remove(names[i]);
                if (scenario.equals("departure-over")) {
                    Map<String, ConnectorsAndTasks> copy = new HashMap<>();
                    n.forEach((w, x) -> copy.put(w, new ConnectorsAndTasks.Builder().with(x.connectors(), x.tasks()).build()));
                    a.performTaskAssignment(state, generation, generation + 1, copy);
                    generation++;
                    clock.now += 300000;
                }
                long start = threads.getCurrentThreadCpuTime();
                IncrementalCooperativeAssignor.ClusterAssignment last = a.performTaskAssignment(state, generation, generation + 1, n);
                times.add((threads.getCurrentThreadCpuTime() - start) / 1e6);
                long assigned = last.newlyAssignedTasks().values().stream().mapToLong(Collection::size).sum();
                long revoked = last.newlyRevokedTasks().values().stream().mapToLong(Collection::size).sum();
                answer.put("assigned", assigned).put("revoked", revoked);
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    public static void main(String[] args) throws Exception {
        PrintWriter out = new PrintWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), false);
        bench(Integer.parseInt(args[0]), Integer.parseInt(args[1]), Integer.parseInt(args[2]), Integer.parseInt(args[3]), out);
    }
}
