package org.apache.kafka.connect.runtime.distributed;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.internals.AbstractCoordinator;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocolCollection;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.runtime.TargetState;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator.ConnectorsAndTasks;
import org.apache.kafka.connect.storage.*; // ClusterConfigState is in this package before 3.3
import org.apache.kafka.connect.util.ConnectorTaskId;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Feeds JSON cases to Kafka Connect's own (unmodified) WorkerCoordinator / IncrementalCooperativeAssignor /
 * EagerAssignor, through the real wire formats. Lives in this package only because much is package-private.
 * What is NOT Kafka's code here: the broker (a java HashMap of members) and the few lines of DistributedHerder that
 * decide when a worker rejoins (failed assignment, something revoked, scheduled rebalance reached).
 */
public final class ConnectOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    static final class Clock implements Time {
        long now;
        @Override public long milliseconds() { return now; }
        @Override public long nanoseconds() { return now * 1_000_000L; }
        @Override public void sleep(long ms) { now += ms; }
        @Override public void waitObject(Object obj, Supplier<Boolean> condition, long deadlineMs) { throw new UnsupportedOperationException(); }
    }

    // ------------------------------------------------------------ a worker: the real WorkerCoordinator, network cut off

    static final class Sim extends WorkerCoordinator {
        String id;
        int generation;
        ClusterConfigState seen;          // what its config backing store returns
        IncrementalCooperativeAssignor assignor;
        long scheduled;                   // DistributedHerder.scheduledRebalance
        boolean rejoin;                   // WorkerCoordinator.rejoinRequested, asked for by the herder
        List<String> why;

        private Sim() { super(null, null, null, null, null, null, null, null, null, null, 0); }

        @Override public int generationId() { return generation; }
        @Override public String memberId() { return id; }
    }

    private static final sun.misc.Unsafe UNSAFE;
    static {
        try {
            Field f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
            f.setAccessible(true);
            UNSAFE = (sun.misc.Unsafe) f.get(null);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static Field field(Class<?> c, String name) throws ReflectiveOperationException {
        Field f = c.getDeclaredField(name);
        f.setAccessible(true);
        return f;
    }

    private static void put(Object o, Class<?> c, String name, Object v) throws ReflectiveOperationException {
        field(c, name).set(o, v);
    }

    static Sim worker(String id, Clock clock, int maxDelay, ConnectProtocolCompatibility protocol) throws Exception {
        Sim s = (Sim) UNSAFE.allocateInstance(Sim.class);
        Class<?> w = WorkerCoordinator.class;
        s.id = id;
        s.scheduled = Long.MAX_VALUE;
        s.assignor = assignor(clock, maxDelay);
        put(s, w, "log", LOGS.getClass().getMethod("logger", Class.class).invoke(LOGS, WorkerCoordinator.class));
        put(s, w, "restUrl", "http://" + id + "/");
        put(s, w, "configStorage", Proxy.newProxyInstance(ConnectOracle.class.getClassLoader(), new Class<?>[]{ConfigBackingStore.class}, (p, m, a) -> {
            if (m.getName().equals("snapshot"))
                return s.seen;
            throw new UnsupportedOperationException(m.getName());
        }));
        put(s, w, "listener", Proxy.newProxyInstance(ConnectOracle.class.getClassLoader(), new Class<?>[]{WorkerRebalanceListener.class}, (p, m, a) -> null));
        put(s, w, "protocolCompatibility", protocol);
        put(s, w, "currentConnectProtocol", protocol);
        put(s, w, "incrementalAssignor", s.assignor);
        put(s, w, "eagerAssignor", made(EagerAssignor.class, LOGS));
        if (has("previousMembers")) // since 2.5.1
            put(s, w, "lastCompletedGenerationId", -1);
        return s;
    }

    static ExtendedAssignment snapshot(Sim s) throws ReflectiveOperationException {
        return (ExtendedAssignment) field(WorkerCoordinator.class, "assignmentSnapshot").get(s);
    }

    // ------------------------------------------------------------ what releases have under other names

    /** Kafka's LogContext, which 4.4 has in another package. */
    static final Object LOGS = logs();

    private static Object logs() {
        for (String name : List.of("org.apache.kafka.common.utils.LogContext", "org.apache.kafka.common.utils.internals.LogContext")) {
            try {
                return Class.forName(name).getConstructor().newInstance();
            } catch (ClassNotFoundException e) {
                // of another release
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
        throw new IllegalStateException("no LogContext");
    }

    private static boolean has(String name) {
        for (Field field : IncrementalCooperativeAssignor.class.getDeclaredFields())
            if (field.getName().equals(name))
                return true;
        return false;
    }

    /** The newest protocol: sessioned since 2.4. */
    private static ConnectProtocolCompatibility newest() {
        ConnectProtocolCompatibility[] all = ConnectProtocolCompatibility.values();
        return all[all.length - 1];
    }

    /** Before 3.4: {@code canRevoke}, its contrary. */
    private static boolean revokedInPrevious(IncrementalCooperativeAssignor a) throws ReflectiveOperationException {
        Class<?> k = IncrementalCooperativeAssignor.class;
        return has("canRevoke") ? !field(k, "canRevoke").getBoolean(a) : field(k, "revokedInPrevious").getBoolean(a);
    }

    /** What a coordinator does by a name, with as many of these arguments, its last ones, as the release takes. */
    private static Object call(Sim s, String name, Object... arguments) throws Exception {
        for (Method method : WorkerCoordinator.class.getDeclaredMethods()) {
            if (method.getName().equals(name) && !method.isBridge()) {
                method.setAccessible(true);
                int first = arguments.length - method.getParameterCount();
                return method.invoke(s, Arrays.copyOfRange(arguments, first, arguments.length));
            }
        }
        return null;
    }

    /** Whoever leads decides: {@code performAssignment} before 3.2. */
    @SuppressWarnings("unchecked")
    private static Map<String, ByteBuffer> elected(Sim s, String leader, String protocol, List<JoinGroupResponseMember> members) throws Exception {
        Object answer = call(s, "performAssignment", leader, protocol, members);
        return (Map<String, ByteBuffer>) (answer != null ? answer : call(s, "onLeaderElected", leader, protocol, members, false));
    }

    static IncrementalCooperativeAssignor assignor(Clock clock, int maxDelay) {
        return made(IncrementalCooperativeAssignor.class, LOGS, clock, maxDelay);
    }

    @SuppressWarnings("unchecked")
    private static <T> T made(Class<T> type, Object... arguments) {
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            if (constructor.getParameterCount() == arguments.length)
                return (T) made(constructor, arguments);
        }
        throw new IllegalStateException("no constructor of " + type + " that is known");
    }

    private static Object made(Constructor<?> constructor, Object... arguments) {
        try {
            constructor.setAccessible(true);
            return constructor.newInstance(arguments);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    // ------------------------------------------------------------ config, wire

    static ClusterConfigState config(Map<String, Integer> counts, Set<String> inconsistent, long offset) {
        Map<String, Map<String, String>> configs = new HashMap<>();
        Map<String, TargetState> states = new HashMap<>();
        counts.keySet().forEach(c -> { configs.put(c, Map.of()); states.put(c, TargetState.STARTED); });
        for (Constructor<?> constructor : ClusterConfigState.class.getDeclaredConstructors()) {
            Class<?>[] types = constructor.getParameterTypes();
            if (types[types.length - 1] == Set.class) { // between what each release has are more maps, and a set
                Object[] all = new Object[types.length];
                for (int i = 0; i < all.length; i++)
                    all[i] = types[i] == Map.class ? Map.of() : types[i] == Set.class ? Set.of() : null;
                all[0] = offset;
                int first = types[1] == Map.class ? 1 : 2; // before 2.4 there is no session key
                all[first] = new HashMap<>(counts);
                all[first + 1] = configs;
                all[first + 2] = states;
                all[all.length - 1] = inconsistent;
                return (ClusterConfigState) made(constructor, all);
            }
        }
        throw new IllegalStateException("no constructor of ClusterConfigState that is known");
    }

    static Map<String, Integer> counts(JsonNode n) {
        Map<String, Integer> m = new LinkedHashMap<>();
        n.fields().forEachRemaining(e -> m.put(e.getKey(), e.getValue().asInt()));
        return m;
    }

    static Set<String> strings(JsonNode n) {
        Set<String> s = new LinkedHashSet<>();
        if (n != null)
            n.forEach(x -> s.add(x.asText()));
        return s;
    }

    /** [[connector, [-1, 0, 2]], ...] : exactly the arrays of the wire format, order kept. */
    static Object[] structs(JsonNode wire) {
        List<Struct> l = new ArrayList<>();
        wire.forEach(g -> {
            List<Integer> t = new ArrayList<>();
            g.get(1).forEach(x -> t.add(x.asInt()));
            l.add(new Struct(IncrementalCooperativeConnectProtocol.CONNECTOR_ASSIGNMENT_V1)
                    .set(ConnectProtocol.CONNECTOR_KEY_NAME, g.get(0).asText())
                    .set(ConnectProtocol.TASKS_KEY_NAME, t.toArray()));
        });
        return l.toArray();
    }

    static byte[] metadata(String id, long offset, JsonNode wire) {
        Struct header = new Struct(ConnectProtocol.CONNECT_PROTOCOL_HEADER_SCHEMA)
                .set(ConnectProtocol.VERSION_KEY_NAME, IncrementalCooperativeConnectProtocol.CONNECT_PROTOCOL_V2);
        ByteBuffer inner = null;
        if (wire != null) {
            Struct a = new Struct(IncrementalCooperativeConnectProtocol.ASSIGNMENT_V1)
                    .set(ConnectProtocol.ERROR_KEY_NAME, (short) 0)
                    .set(ConnectProtocol.LEADER_KEY_NAME, id)
                    .set(ConnectProtocol.LEADER_URL_KEY_NAME, "u")
                    .set(ConnectProtocol.CONFIG_OFFSET_KEY_NAME, offset)
                    .set(ConnectProtocol.ASSIGNMENT_KEY_NAME, structs(wire))
                    .set(IncrementalCooperativeConnectProtocol.REVOKED_KEY_NAME, new Object[0])
                    .set(IncrementalCooperativeConnectProtocol.SCHEDULED_DELAY_KEY_NAME, 0);
            inner = ByteBuffer.allocate(header.sizeOf() + IncrementalCooperativeConnectProtocol.ASSIGNMENT_V1.sizeOf(a));
            header.writeTo(inner);
            IncrementalCooperativeConnectProtocol.ASSIGNMENT_V1.write(inner, a);
            inner.flip();
        }
        Struct state = new Struct(IncrementalCooperativeConnectProtocol.CONFIG_STATE_V1)
                .set(ConnectProtocol.URL_KEY_NAME, "http://" + id + "/")
                .set(ConnectProtocol.CONFIG_OFFSET_KEY_NAME, offset);
        Struct allocation = new Struct(IncrementalCooperativeConnectProtocol.ALLOCATION_V1)
                .set(IncrementalCooperativeConnectProtocol.ALLOCATION_KEY_NAME, inner);
        ByteBuffer b = ByteBuffer.allocate(header.sizeOf() + IncrementalCooperativeConnectProtocol.CONFIG_STATE_V1.sizeOf(state)
                + IncrementalCooperativeConnectProtocol.ALLOCATION_V1.sizeOf(allocation));
        header.writeTo(b);
        IncrementalCooperativeConnectProtocol.CONFIG_STATE_V1.write(b, state);
        IncrementalCooperativeConnectProtocol.ALLOCATION_V1.write(b, allocation);
        return b.array();
    }

    static ArrayNode wire(Object[] groups) {
        ArrayNode out = JSON.createArrayNode();
        if (groups == null)
            return out;
        for (Object g : groups) {
            Struct s = (Struct) g;
            ArrayNode t = JSON.createArrayNode();
            for (Object i : s.getArray(ConnectProtocol.TASKS_KEY_NAME))
                t.add((Integer) i);
            out.add(JSON.createArrayNode().add(s.getString(ConnectProtocol.CONNECTOR_KEY_NAME)).add(t));
        }
        return out;
    }

    static final class Answer {
        short error;
        int delay;
        ArrayNode assigned = JSON.createArrayNode(), revoked = JSON.createArrayNode();
    }

    static Answer read(ByteBuffer buffer) {
        ByteBuffer b = buffer.duplicate();
        short version = ConnectProtocol.CONNECT_PROTOCOL_HEADER_SCHEMA.read(b).getShort(ConnectProtocol.VERSION_KEY_NAME);
        Answer r = new Answer();
        if (version == 0) {
            Struct s = ConnectProtocol.ASSIGNMENT_V0.read(b);
            r.error = s.getShort(ConnectProtocol.ERROR_KEY_NAME);
            r.assigned = wire(s.getArray(ConnectProtocol.ASSIGNMENT_KEY_NAME));
            return r;
        }
        Struct s = IncrementalCooperativeConnectProtocol.ASSIGNMENT_V1.read(b);
        r.error = s.getShort(ConnectProtocol.ERROR_KEY_NAME);
        r.delay = s.getInt(IncrementalCooperativeConnectProtocol.SCHEDULED_DELAY_KEY_NAME);
        r.assigned = wire(s.getArray(ConnectProtocol.ASSIGNMENT_KEY_NAME));
        r.revoked = wire(s.getArray(IncrementalCooperativeConnectProtocol.REVOKED_KEY_NAME));
        return r;
    }

    // ------------------------------------------------------------ the assignor's memory

    static ConnectorsAndTasks ct(JsonNode wire) {
        Set<String> c = new LinkedHashSet<>();
        Set<ConnectorTaskId> t = new LinkedHashSet<>();
        if (wire != null)
            wire.forEach(g -> g.get(1).forEach(x -> {
                if (x.asInt() < 0) c.add(g.get(0).asText());
                else t.add(new ConnectorTaskId(g.get(0).asText(), x.asInt()));
            }));
        return new ConnectorsAndTasks.Builder().with(c, t).build();
    }

    static ArrayNode canonical(ConnectorsAndTasks x) {
        TreeMap<String, TreeSet<Integer>> m = new TreeMap<>();
        x.connectors().forEach(c -> m.computeIfAbsent(c, k -> new TreeSet<>()).add(-1));
        x.tasks().forEach(t -> m.computeIfAbsent(t.connector(), k -> new TreeSet<>()).add(t.task()));
        ArrayNode out = JSON.createArrayNode();
        m.forEach((c, ts) -> {
            ArrayNode a = JSON.createArrayNode();
            ts.forEach(a::add);
            out.add(JSON.createArrayNode().add(c).add(a));
        });
        return out;
    }

    static void remember(IncrementalCooperativeAssignor a, JsonNode m) throws ReflectiveOperationException {
        Class<?> k = IncrementalCooperativeAssignor.class;
        put(a, k, "previousAssignment", ct(m.get("previous")));
        ConnectorsAndTasks rev = (ConnectorsAndTasks) field(k, "previousRevocation").get(a), given = ct(m.get("revocation"));
        rev.connectors().addAll(given.connectors());
        rev.tasks().addAll(given.tasks());
        boolean revoked = m.get("revoked_in_previous").asBoolean();
        put(a, k, has("canRevoke") ? "canRevoke" : "revokedInPrevious", has("canRevoke") != revoked);
        a.candidateWorkersForReassignment.addAll(strings(m.get("candidates")));
        a.scheduledRebalance = m.get("scheduled").asLong();
        a.delay = m.get("delay").asInt();
        if (has("previousMembers")) {
            put(a, k, "previousGenerationId", m.get("generation").asInt());
            put(a, k, "previousMembers", strings(m.get("members")));
        }
        if (has("numSuccessiveRevokingRebalances"))
            put(a, k, "numSuccessiveRevokingRebalances", m.get("successive").asInt());
    }

    static ObjectNode memory(IncrementalCooperativeAssignor a, boolean full) throws ReflectiveOperationException {
        Class<?> k = IncrementalCooperativeAssignor.class;
        ConnectorsAndTasks prev = (ConnectorsAndTasks) field(k, "previousAssignment").get(a);
        ConnectorsAndTasks rev = (ConnectorsAndTasks) field(k, "previousRevocation").get(a);
        ObjectNode m = JSON.createObjectNode();
        if (full) {
            m.set("previous", canonical(prev));
            m.set("revocation", canonical(rev));
        } else {
            m.set("sizes", JSON.createArrayNode().add(prev.connectors().size()).add(prev.tasks().size()).add(rev.connectors().size()).add(rev.tasks().size()));
        }
        m.put("revoked_in_previous", revokedInPrevious(a));
        ArrayNode c = m.putArray("candidates");
        a.candidateWorkersForReassignment.forEach(c::add);
        boolean remembers = has("previousMembers");
        int generation = remembers ? field(k, "previousGenerationId").getInt(a) : -1;
        m.put("scheduled", a.scheduledRebalance).put("delay", a.delay).put("generation", generation);
        ArrayNode mem = JSON.createArrayNode();
        if (remembers)
            new TreeSet<>((Set<String>) field(k, "previousMembers").get(a)).forEach(mem::add);
        if (full)
            m.set("members", mem);
        String successive = "numSuccessiveRevokingRebalances";
        m.put("successive", has(successive) ? field(k, successive).getInt(a) : 0);
        if (!full)   // everything, for the digest
            m.put("all", canonical(prev) + "|" + canonical(rev) + "|" + mem);
        return m;
    }

    // ------------------------------------------------------------ one decision

    static ObjectNode assign(JsonNode in) throws Exception {
        Clock clock = new Clock();
        clock.now = in.get("now").asLong();
        boolean eager = in.path("protocol").asText("incremental").equals("eager");
        ConnectProtocolCompatibility p = eager ? ConnectProtocolCompatibility.EAGER : newest();
        String leader = in.get("leader").asText();
        Sim s = worker(leader, clock, in.get("max_delay").asInt(), p);
        JsonNode off = in.path("offsets");
        long leaderOffset = off.path("leader").asLong(1), fresh = off.path("fresh").asLong(leaderOffset);
        Map<String, Integer> counts = counts(in.get("connectors"));
        Set<String> inconsistent = strings(in.get("inconsistent"));
        s.configSnapshot(config(counts, inconsistent, leaderOffset));
        s.seen = config(counts, inconsistent, fresh);
        s.generation = in.get("generation").asInt();
        if (has("previousMembers"))
            put(s, WorkerCoordinator.class, "lastCompletedGenerationId", in.get("last_completed").asInt());
        if (in.hasNonNull("memory"))
            remember(s.assignor, in.get("memory"));
        List<JoinGroupResponseMember> members = new ArrayList<>();
        in.get("members").forEach(m -> members.add(new JoinGroupResponseMember().setMemberId(m.get(0).asText())
                .setMetadata(metadata(m.get(0).asText(), off.path("members").path(m.get(0).asText()).asLong(1), m.get(1).isNull() ? null : m.get(1)))));
        Map<String, ByteBuffer> r = elected(s, leader, p.protocol(), members);
        ObjectNode out = JSON.createObjectNode().put("id", in.get("id").asText());
        ObjectNode ms = out.putObject("members");
        short error = 0;
        int delay = 0;
        for (JsonNode m : in.get("members")) {
            Answer a = read(r.get(m.get(0).asText()));
            error = a.error;
            delay = a.delay;
            ms.set(m.get(0).asText(), JSON.createArrayNode().add(a.assigned).add(a.revoked));
        }
        out.put("error", error).put("delay", delay);
        if (!eager)
            out.set("memory", memory(s.assignor, true));
        return out;
    }

    // ------------------------------------------------------------ a whole sequence

    static ObjectNode sequence(JsonNode in) throws Exception {
        Clock clock = new Clock();
        clock.now = in.path("start").asLong(0);
        String named = in.path("protocol").asText("sessioned");
        ConnectProtocolCompatibility p = named.equals("sessioned") ? newest() : ConnectProtocolCompatibility.compatibility(named);
        boolean eager = p == ConnectProtocolCompatibility.EAGER;
        int maxDelay = in.get("max_delay").asInt();
        long roundMs = in.path("round_ms").asLong(0);
        int maxRounds = in.path("max_rounds").asInt(100);
        Map<String, Integer> counts = counts(in.get("connectors"));
        long version = 1;
        Map<String, Sim> group = new HashMap<>();         // the broker's ClassicGroup.members
        Map<String, Sim> gone = new HashMap<>();
        String leader = null;
        int generation = 0;
        List<JsonNode> events = new ArrayList<>();
        in.get("events").forEach(events::add);
        int next = 0;
        ArrayNode rounds = JSON.createArrayNode();
        boolean settled = false;
        while (rounds.size() < maxRounds) {
            long due = Long.MAX_VALUE;
            for (Sim s : group.values())
                due = Math.min(due, s.rejoin ? clock.now : s.scheduled);
            long at = next < events.size() ? events.get(next).get("at").asLong() : Long.MAX_VALUE;
            if (Math.min(at, due) == Long.MAX_VALUE) {
                settled = true;
                break;
            }
            clock.now = Math.max(clock.now, Math.min(at, due));
            String fail = null;
            Set<String> lost = new HashSet<>();
            while (next < events.size() && events.get(next).get("at").asLong() <= clock.now) {
                JsonNode e = events.get(next++);
                for (String x : strings(e.get("leave"))) {
                    Sim s = group.remove(x);
                    if (s == null)
                        continue;
                    gone.put(x, s);
                    if (x.equals(leader)) {
                        Iterator<String> it = group.keySet().iterator();
                        leader = it.hasNext() ? it.next() : null;
                    }
                }
                if (e.has("join"))
                    for (JsonNode j : e.get("join")) {
                        String x = j.isArray() ? j.get(0).asText() : j.asText();
                        Sim s = j.isArray() ? gone.remove(j.get(1).asText()) : null;   // the same process, a new member id
                        if (s == null)
                            s = worker(x, clock, maxDelay, p);
                        s.id = x;
                        group.put(x, s);
                        if (leader == null)
                            leader = x;
                    }
                if (e.has("connectors")) {
                    for (Iterator<Map.Entry<String, JsonNode>> it = e.get("connectors").fields(); it.hasNext(); ) {
                        Map.Entry<String, JsonNode> c = it.next();
                        if (c.getValue().isNull()) counts.remove(c.getKey());
                        else counts.put(c.getKey(), c.getValue().asInt());
                    }
                    version++;
                }
                if (e.has("fail")) fail = e.get("fail").asText();
                lost.addAll(strings(e.get("lost")));
            }
            if (group.isEmpty())
                continue;
            // ---- one round
            generation++;
            ClusterConfigState state = config(counts, Set.of(), version), behind = config(counts, Set.of(), version - 1);
            List<JoinGroupResponseMember> members = new ArrayList<>();
            for (Sim s : group.values()) {
                call(s, "onJoinPrepare", null, s.generation, s.id);
                s.seen = "lag".equals(fail) && s.id.equals(leader) && group.size() > 1 ? behind : state;
                JoinGroupRequestProtocolCollection c = s.metadata();
                JoinGroupRequestProtocol chosen = c.find(p.protocol());
                members.add(new JoinGroupResponseMember().setMemberId(s.id).setMetadata(chosen.metadata()));
                s.generation = generation;
            }
            Sim lead = group.get(leader);
            Map<String, ByteBuffer> r = elected(lead, leader, p.protocol(), members);
            ObjectNode round = rounds.addObject().put("t", clock.now).put("gen", generation).put("leader", leader);
            ObjectNode ms = round.putObject("members");
            for (String x : new TreeSet<>(group.keySet())) {
                Answer a = read(r.get(x));
                if (a.error != 0) round.put("error", a.error);
                round.put("delay", a.delay);
                if (!a.assigned.isEmpty() || !a.revoked.isEmpty())
                    ms.set(x, JSON.createArrayNode().add(a.assigned).add(a.revoked));
            }
            if ("sync".equals(fail)) {                      // nobody gets this assignment; everyone joins again
                round.put("sync", false);
                group.values().forEach(s -> s.rejoin = true);
            } else {
                for (Sim s : group.values()) {
                    s.rejoin = false;
                    if (lost.contains(s.id)) {              // this one does not get it; it joins again with what it had
                        s.rejoin = true;
                        continue;
                    }
                    s.onJoinComplete(generation, s.id, p.protocol(), r.get(s.id).duplicate());
                    ExtendedAssignment a = snapshot(s);     // DistributedHerder.onAssigned, handleRebalanceCompleted
                    s.scheduled = a.delay() > 0 ? clock.now + a.delay() : Long.MAX_VALUE;
                    if (a.failed())
                        s.rejoin = true;
                    else if (!a.revokedConnectors().isEmpty() || !a.revokedTasks().isEmpty()) {
                        a.revokedConnectors().clear();
                        a.revokedTasks().clear();
                        s.rejoin = true;
                    }
                }
            }
            StringBuilder sb = new StringBuilder();
            for (Map.Entry<String, Sim> e : new TreeMap<>(group).entrySet()) {
                ExtendedAssignment a = snapshot(e.getValue());
                sb.append(e.getKey()).append('=').append(a == null ? "" : String.join(",", a.connectors())).append(';')
                        .append(a == null ? "" : a.tasks().stream().map(ConnectorTaskId::toString).collect(Collectors.joining(","))).append('\n');
            }
            if (!eager) {
                ObjectNode m = memory(lead.assignor, false);
                sb.append(m.remove("all").asText());
                round.set("memory", m);
            }
            byte[] d = MessageDigest.getInstance("SHA-1").digest(sb.toString().getBytes(StandardCharsets.UTF_8));
            StringBuilder hex = new StringBuilder();
            for (int i = 0; i < 8; i++) hex.append(String.format("%02x", d[i]));
            round.put("sha", hex.toString());
            clock.now += roundMs;
        }
        ObjectNode out = JSON.createObjectNode().put("id", in.get("id").asText()).put("settled", settled);
        out.set("rounds", rounds);
        ObjectNode fin = out.putObject("final");
        for (Map.Entry<String, Sim> e : new TreeMap<>(group).entrySet()) {
            ExtendedAssignment a = snapshot(e.getValue());
            fin.set(e.getKey(), a == null ? JSON.createArrayNode() : canonical(new ConnectorsAndTasks.Builder().with(a.connectors(), a.tasks()).build()));
        }
        return out;
    }

    public static void main(String[] args) throws Exception {
        PrintWriter out = new PrintWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), false);
        BufferedReader br = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String l; (l = br.readLine()) != null; ) {
            if (l.isBlank()) continue;
            JsonNode in = JSON.readTree(l);
            ObjectNode r;
            try {
                r = args[0].equals("assign") ? assign(in) : sequence(in);
            } catch (Exception e) {
                r = JSON.createObjectNode().put("id", in.get("id").asText()).put("error", e.toString());
                if (System.getenv("TRACE") != null) e.printStackTrace();
            }
            out.println(JSON.writeValueAsString(r));
        }
        out.flush();
    }
}
