package io.kstreamplan;

import static io.kstreamplan.TargetFile.refuseIf;

import io.kstreamplan.TargetFile.*;
import java.time.Instant;
import java.util.*;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;

/** Where tasks and standbys are to go, and how fast: of a file whose slots members have taken, or of Balance. */
final class Target {
    final boolean isPlan;
    /** The plan's id, or the code for which no file counts. */
    final String why;
    final int warmups;
    final long probeMs;
    /** When to decide again though nothing waits, or null. */
    final Instant until;
    /** By name of a slot, the member on it; empty slots are not in it. */
    final Map<String, Integer> slots = new LinkedHashMap<>();
    /** By task: the member that is to run it, or NONE. */
    final int[] active;
    /** By task: the members that are to hold a standby. */
    final BitSet[] standbys;
    /** By task: how many standbys it is to have, those of empty slots included. */
    final int[] wantedStandbys;
    /** Who warms up first; the other stateful tasks come after, in task order. */
    final Set<Integer> order = new LinkedHashSet<>();

    Target(Group group, boolean isPlan, String why, int warmups, long probeMs, Instant until) {
        this.isPlan = isPlan;
        this.why = why;
        this.warmups = warmups;
        this.probeMs = probeMs;
        this.until = until;
        active = new int[group.tasks.length];
        Arrays.fill(active, Group.NONE);
        wantedStandbys = new int[group.tasks.length];
        standbys = new BitSet[group.tasks.length];
        Arrays.setAll(standbys, task -> new BitSet());
    }

    /** The target of a file, unless it does not fit the group. */
    static Target of(TargetFile file, Group group, String application, Instant now) throws Refused {
        refuseIf(application != null && !application.equals(file.application), "application");
        refuseIf(!now.isBefore(file.expires), "expired");
        refuseMisplaced(file, group);
        refuseIf(file.extra.equals("balance") && group.members.length > file.slots.size(), "more-members");
        Instant until = file.slots.size() == group.members.length ? null : file.expires;
        Target target = new Target(group, true, file.plan, file.warmups, file.probeMs, until);
        file.order.forEach(id -> target.order.add(group.number(id)));
        int[] seats = seats(file.slots, group);
        for (int place = 0; place < seats.length; place++) {
            Slot slot = file.slots.get(place);
            int member = seats[place];
            slot.standby.forEach(id -> target.wantedStandbys[group.number(id)]++);
            if (member != Group.NONE) {
                target.slots.put(slot.name, member);
                slot.active.forEach(id -> target.active[group.number(id)] = member);
                slot.standby.forEach(id -> target.standbys[group.number(id)].set(member));
            }
        }
        return target;
    }

    private static void refuseMisplaced(TargetFile file, Group group) throws Refused {
        Set<TaskId> placed = new HashSet<>();
        for (Slot slot : file.slots) {
            refuseIf(!slot.active.stream().allMatch(placed::add), "placed-twice");
        }
        refuseIf(!placed.equals(new HashSet<>(Arrays.asList(group.tasks))), "tasks");
        for (Slot slot : file.slots) {
            boolean isBesideActive = group.numbers(slot.standby).intersects(group.numbers(slot.active));
            refuseIf(isBesideActive || !areStatefulOnce(slot.standby, group), "bad-standby");
        }
        refuseIf(!areStatefulOnce(file.order, group), "bad-order");
    }

    private static boolean areStatefulOnce(List<TaskId> ids, Group group) {
        return group.numbers(ids).stream().filter(task -> group.isStateful[task]).count() == ids.size();
    }

    /** By slot, the member on it, or NONE: first who matches, then who holds most of what the slot is to hold. */
    private static int[] seats(List<Slot> slots, Group group) {
        int[] seats = new int[slots.size()];
        BitSet seated = new BitSet();
        long[][] overlaps = slots.stream().map(slot -> overlaps(slot, group)).toArray(long[][]::new);
        for (int slot = 0; slot < seats.length; slot++) {
            String match = slots.get(slot).match;
            long[] overlap = overlaps[slot];
            seats[slot] = group.least(member -> !seated.get(member) && matches(match, group.members[member]),
                Group.by(member -> -overlap[member]));
            if (seats[slot] != Group.NONE) {
                seated.set(seats[slot]);
            }
        }
        List<int[]> pairs = new ArrayList<>();
        for (int slot = 0; slot < seats.length; slot++) {
            for (int member = 0; member < group.members.length; member++) {
                pairs.add(new int[] {slot, member});
            }
        }
        pairs.sort(Comparator.comparingLong(pair -> -overlaps[pair[0]][pair[1]]));
        for (int[] pair : pairs) {
            if (seats[pair[0]] == Group.NONE && !seated.get(pair[1])) {
                seats[pair[0]] = pair[1];
                seated.set(pair[1]);
            }
        }
        return seats;
    }

    /** By member, a number that is larger the more of the slot it holds: tasks that it runs count before copies. */
    private static long[] overlaps(Slot slot, Group group) {
        long[] overlaps = new long[group.members.length];
        BitSet active = group.numbers(slot.active);
        BitSet all = group.numbers(slot.standby);
        all.or(active);
        for (int member = 0; member < overlaps.length; member++) {
            long running = active.stream().filter(group.owned[member]::get).count();
            overlaps[member] = (running << Integer.SIZE) + all.stream().filter(group.state[member]::get).count();
        }
        return overlaps;
    }

    private static boolean matches(String match, KafkaStreamsState member) {
        String kind = match.split(":")[0];
        String value = match.substring(match.indexOf(':') + 1);
        String[] tag = value.split("=", 2);
        Set<String> consumers = member.consumerClientIds();
        return kind.equals("tag") && tag[1].equals(member.clientTags().get(tag[0]))
            || kind.equals("static") && consumers.stream().anyMatch(id -> id.startsWith(value)
                && id.substring(value.length()).matches("-[0-9]+-[0-9a-f-]{36}"))
            || kind.equals("client") && consumers.stream().anyMatch(id -> id.startsWith(value + "-StreamThread-"))
            || kind.equals("host")
                && value.equals(member.hostInfo().map(at -> at.host() + ":" + at.port()).orElse(null))
            || kind.equals("process") && value.equals(member.processId().toString());
    }
}
