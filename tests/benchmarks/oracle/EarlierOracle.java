package org.apache.kafka.streams.processor.internals.assignment;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;

/**
 * The same as Oracle, of the releases 2.6 to 3.7: their own high-availability assignor and split over threads, without
 * the movements one by one. What differs between these releases is called by its name.
 */
public final class EarlierOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private EarlierOracle() { }

    private static Object made(final Class<?> type, final Object... arguments) {
        for (final Constructor<?> constructor : type.getDeclaredConstructors()) {
            if (constructor.getParameterCount() == arguments.length) {
                try {
                    constructor.setAccessible(true);
                    return constructor.newInstance(arguments);
                } catch (final IllegalArgumentException e) {
                    // of the same number, and other types
                } catch (final ReflectiveOperationException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        return null;
    }

    private static Method named(final Class<?> type, final String name) {
        for (final Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(name) && !method.isBridge()) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new IllegalStateException("no method " + name);
    }

    private static Object call(final Method method, final Object target, final Object... arguments) {
        try {
            return method.invoke(target, arguments);
        } catch (final InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        } catch (final IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long number(final JsonNode node, final String field, final long otherwise) {
        return node.hasNonNull(field) ? node.get(field).asLong() : otherwise;
    }

    private static Iterable<JsonNode> items(final JsonNode node, final String field) {
        return node.hasNonNull(field) ? node.get(field) : Collections.emptyList();
    }

    private static Set<TaskId> tasks(final JsonNode node, final String field) {
        final Set<TaskId> found = new TreeSet<>();
        items(node, field).forEach(task -> found.add(task(task.asText())));
        return found;
    }

    private static TaskId task(final String text) {
        final String[] parts = text.split("_");
        return new TaskId(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]));
    }

    private static AssignorConfiguration.AssignmentConfigs configs(final JsonNode config) {
        final List<String> tags = new ArrayList<>();
        items(config, "rack_aware_assignment_tags").forEach(tag -> tags.add(tag.asText()));
        final Object lag = number(config, "acceptable_recovery_lag", 10000L);
        final Object warmups = (int) number(config, "max_warmup_replicas", 2);
        final Object standbys = (int) number(config, "num_standby_replicas", 0);
        final Object probing = number(config, "probing_rebalance_interval_ms", 600000L);
        final Object traffic = cost(config, "rack_aware_assignment_traffic_cost");
        final Object overlap = cost(config, "rack_aware_assignment_non_overlap_cost");
        final String strategy = config.path("rack_aware_assignment_strategy").asText("none");
        final Class<?> type = AssignorConfiguration.AssignmentConfigs.class;
        Object made = made(type, lag, warmups, standbys, probing, tags, traffic, overlap, strategy);
        made = made != null ? made : made(type, lag, warmups, standbys, probing, tags);
        return (AssignorConfiguration.AssignmentConfigs) (made != null ? made : made(type, lag, warmups, standbys, probing));
    }

    private static Object cost(final JsonNode config, final String field) {
        return config.hasNonNull(field) ? (Object) config.get(field).asInt() : null;
    }

    private static ClientState state(final UUID id, final JsonNode client) {
        final Map<String, String> tags = new HashMap<>();
        if (client.hasNonNull("client_tags")) {
            client.get("client_tags").fields().forEachRemaining(tag -> tags.put(tag.getKey(), tag.getValue().asText()));
        }
        Object made = made(ClientState.class, id, tags);
        made = made != null ? made : made(ClientState.class, tags);
        return (ClientState) (made != null ? made : new ClientState());
    }

    private static Map<String, Set<TaskId>> byConsumer(final JsonNode client, final SortedSet<String> consumers, final Set<TaskId> all) {
        final Map<String, Set<TaskId>> by = new TreeMap<>();
        consumers.forEach(consumer -> by.put(consumer, new TreeSet<>()));
        if (client.hasNonNull("prev_tasks_by_consumer")) {
            final Set<TaskId> rest = new TreeSet<>(all);
            client.get("prev_tasks_by_consumer").fields().forEachRemaining(given ->
                given.getValue().forEach(text -> by.get(given.getKey()).add(task(text.asText()))));
            by.values().forEach(rest::removeAll);
            by.get(consumers.first()).addAll(rest);
        } else {
            final List<String> turns = new ArrayList<>(consumers);
            int turn = 0;
            for (final TaskId task : all) {
                by.get(turns.get(turn++ % turns.size())).add(task);
            }
        }
        return by;
    }

    private static ObjectNode answer(final JsonNode given) {
        final Set<TaskId> stateful = new HashSet<>();
        final Map<TaskId, Set<TopicPartition>> all = new HashMap<>();
        final Map<TaskId, Long> sums = new HashMap<>();
        for (final JsonNode node : items(given, "tasks")) {
            final TaskId task = task(node.get("id").asText());
            all.put(task, Collections.singleton(new TopicPartition("source-" + task.toString(), 0)));
            if (node.path("stateful").asBoolean()) {
                stateful.add(task);
                sums.put(task, number(node, "end_offset_sum", 0));
            }
        }
        final Map<UUID, ClientState> states = new HashMap<>();
        final Map<UUID, SortedSet<String>> consumersOf = new HashMap<>();
        for (final JsonNode client : items(given, "clients")) {
            final UUID id = UUID.fromString(client.get("process_id").asText());
            final ClientState state = state(id, client);
            final SortedSet<String> consumers = new TreeSet<>();
            items(client, "consumers").forEach(consumer -> consumers.add(consumer.asText()));
            final Map<TaskId, Long> offsets = new TreeMap<>();
            client.path("task_lags").fields().forEachRemaining(lag -> {
                final TaskId task = task(lag.getKey());
                final long records = lag.getValue().asLong();
                offsets.put(task, records < 0 ? records : sums.getOrDefault(task, 0L) - records);
            });
            final Set<TaskId> active = tasks(client, "prev_active");
            final Set<TaskId> standby = tasks(client, "prev_standby");
            final Set<TaskId> reported = new TreeSet<>(offsets.keySet());
            reported.addAll(active);
            reported.addAll(standby);
            byConsumer(client, consumers, reported).forEach((consumer, has) -> {
                state.incrementCapacity();
                final List<TopicPartition> owned = new ArrayList<>();
                has.stream().filter(task -> active.contains(task) && all.containsKey(task)).forEach(task -> owned.addAll(all.get(task)));
                state.addOwnedPartitions(owned, consumer);
                final Map<TaskId, Long> said = new HashMap<>();
                has.stream().filter(offsets::containsKey).forEach(task -> said.put(task, offsets.get(task)));
                state.addPreviousTasksAndOffsetSums(consumer, said);
            });
            state.addPreviousActiveTasks(active);
            state.addPreviousStandbyTasks(standby);
            state.computeTaskLags(id, sums);
            states.put(id, state);
            consumersOf.put(id, consumers);
        }
        final Method assign = named(HighAvailabilityTaskAssignor.class, "assign");
        final AssignorConfiguration.AssignmentConfigs configs = configs(given.path("config"));
        final Object[] arguments = assign.getParameterCount() == 4
            ? new Object[] {states, all.keySet(), stateful, configs}
            : new Object[] {states, all.keySet(), stateful, racks(given, configs), configs};
        final Object followUp = call(assign, new HighAvailabilityTaskAssignor(), arguments);
        final ObjectNode out = JSON.createObjectNode();
        out.put("id", given.path("id").asText());
        out.put("followup_probing_rebalance", (Boolean) followUp);
        final ArrayNode clients = out.putArray("clients");
        for (final JsonNode client : items(given, "clients")) {
            final UUID id = UUID.fromString(client.get("process_id").asText());
            final ClientState state = states.get(id);
            final ObjectNode node = clients.addObject();
            node.put("process_id", client.get("process_id").asText());
            node.set("active", ids(new TreeSet<>(state.activeTasks())));
            node.set("standby", ids(new TreeSet<>(state.standbyTasks())));
            node.set("threads", threads(state, consumersOf.get(id)));
        }
        return out;
    }

    /** What is known of racks, by the releases that go by it. */
    private static Object racks(final JsonNode given, final AssignorConfiguration.AssignmentConfigs configs) {
        try {
            return call(named(Class.forName(EarlierOracle.class.getPackage().getName() + ".EarlierRacks"), "of"), null, given, configs);
        } catch (final ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    @SuppressWarnings("unchecked")
    private static ObjectNode threads(final ClientState state, final SortedSet<String> consumers) {
        final Method split = named(StreamsPartitionAssignor.class, "assignTasksToThreads");
        final Map<String, List<TaskId>> active = new TreeMap<>();
        final Map<String, List<TaskId>> standby;
        if (split.getParameterCount() == 4) {
            active.putAll((Map<String, List<TaskId>>) call(split, null, state.statefulActiveTasks(), state.statelessActiveTasks(), consumers, state));
            standby = (Map<String, List<TaskId>>) call(split, null, state.standbyTasks(), Collections.emptySet(), consumers, state);
        } else {
            final Map<String, Integer> loads = new HashMap<>();
            active.putAll((Map<String, List<TaskId>>) call(split, null, state.statefulActiveTasks(), true, consumers, state, loads));
            standby = (Map<String, List<TaskId>>) call(split, null, state.standbyTasks(), true, consumers, state, loads);
            final Map<String, List<TaskId>> stateless =
                (Map<String, List<TaskId>>) call(split, null, state.statelessActiveTasks(), false, consumers, state, loads);
            stateless.forEach((consumer, tasks) -> active.get(consumer).addAll(tasks));
        }
        final ObjectNode out = JSON.createObjectNode();
        active.forEach((consumer, tasks) -> {
            final ObjectNode pair = out.putObject(consumer);
            pair.set("active", ids(tasks));
            pair.set("standby", ids(standby.get(consumer)));
        });
        return out;
    }

    private static ArrayNode ids(final Collection<TaskId> tasks) {
        final ArrayNode out = JSON.createArrayNode();
        tasks.forEach(task -> out.add(task.toString()));
        return out;
    }

    public static void main(final String[] arguments) throws Exception {
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            System.out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }
}
