package io.kstreamplan;

import static io.kstreamplan.Group.by;

import java.time.Instant;
import java.util.*;
import java.util.function.IntToLongFunction;
import java.util.stream.*;

/** One decision: who runs what, who holds copies, when to decide again. It depends on the group and a target alone. */
final class Decision {
    final Group group;
    final Target target;
    /** By task: who runs it. */
    final int[] active;
    /** By task: who holds a copy: standbys and warm-ups, for Kafka knows no other role. */
    final BitSet[] copies;
    /** Copies beside the wanted ones. */
    final List<Copy> warmups = new ArrayList<>();
    /** Tasks whose target is here and does not run them yet, each with its target. */
    final List<Copy> waiting = new ArrayList<>();
    /** Standbys whose member is here and is not among those closest. */
    final List<Copy> waitingStandbys = new ArrayList<>();
    /** When to decide again, or null; then the member whose consumers bring that about, else NONE. */
    final Instant again;
    final int carrier;

    /** A task and the member that is to have it. */
    static final class Copy {
        final int task;
        final int member;

        private Copy(int task, int member) {
            this.task = task;
            this.member = member;
        }
    }

    /** Decides; the client id of the leader's consumer may be null. */
    Decision(Group group, Target target, Instant now, String leader) {
        this.group = group;
        this.target = target;
        active = runners(group, target.active);
        copies = new BitSet[group.tasks.length];
        Arrays.setAll(copies, task -> new BitSet());
        Set<Integer> sequence = new LinkedHashSet<>(target.order);
        IntStream.of(group.stateful).forEach(sequence::add);
        sequence.forEach(this::placeStandbys);
        warmUp(waiting);
        warmUp(waitingStandbys);
        placeStateless();
        again = waiting.isEmpty() && waitingStandbys.isEmpty() ? target.until : now.plusMillis(target.probeMs);
        int own = group.least(member -> leader != null
            && group.members[member].consumerClientIds().stream().anyMatch(id -> id.startsWith(leader)));
        carrier = again == null ? Group.NONE : Math.max(0, own); // the leader's own process has the clock that decided
    }

    /** By stateful task, who runs it: its target unless somebody else is closer, so that none goes to a colder copy. */
    static int[] runners(Group group, int[] targets) {
        int[] runners = new int[group.tasks.length];
        int[] load = new int[group.members.length];
        Arrays.fill(runners, Group.NONE);
        for (boolean ownersKeep : new boolean[] {true, false}) {
            for (int task : group.stateful) {
                int owner = group.owners[task];
                if (ownersKeep && owner != Group.NONE && (group.rank(task, owner) == 0
                    || group.least(member -> group.rank(task, member) == 0) == Group.NONE)) {
                    runners[task] = owner;
                } else if (!ownersKeep && runners[task] == Group.NONE) {
                    runners[task] = group.least(member -> true,
                        by(member -> group.rank(task, member)), group.perThread(load));
                } else {
                    continue;
                }
                int goal = targets[task];
                if (goal != Group.NONE && group.rank(task, goal) <= group.rank(task, runners[task])) {
                    runners[task] = goal;
                }
                load[runners[task]]++;
            }
        }
        return runners;
    }

    /** The wanted number of standbys, on those that are closest; notes what waits. */
    private void placeStandbys(int task) {
        int goal = target.active[task];
        BitSet wanted = target.standbys[task];
        for (int n = Math.min(target.wantedStandbys[task], group.members.length - 1); n > 0; n--) {
            copies[task].set(group.least(member -> member != active[task] && !copies[task].get(member),
                by(member -> group.rank(task, member)), by(member -> member == goal ? 0 : 1),
                by(member -> wanted.get(member) ? 0 : 1)));
        }
        if (goal != Group.NONE && goal != active[task]) {
            waiting.add(new Copy(task, goal));
        }
        wanted.stream().filter(member -> member != active[task] && !copies[task].get(member))
            .forEach(member -> waitingStandbys.add(new Copy(task, member)));
    }

    /** Gives copies within the budget, first to those that have state: a restoration that has begun goes on. */
    private void warmUp(List<Copy> queue) {
        for (boolean hasBegun : new boolean[] {true, false}) {
            for (Copy copy : queue) {
                if (warmups.size() < target.warmups && group.state[copy.member].get(copy.task) == hasBegun
                    && !copies[copy.task].get(copy.member)) {
                    copies[copy.task].set(copy.member);
                    warmups.add(copy);
                }
            }
        }
    }

    private void placeStateless() {
        int[] load = new int[group.members.length];
        for (int task = 0; task < active.length; task++) {
            if (!group.isStateful[task]) {
                active[task] = target.active[task] != Group.NONE ? target.active[task] : group.owners[task];
            }
            if (active[task] != Group.NONE) {
                load[active[task]]++;
            }
        }
        for (int task = 0; task < active.length; task++) {
            if (active[task] == Group.NONE) {
                active[task] = group.least(member -> true, group.perThread(load));
                load[active[task]]++;
            }
        }
    }

    /** What it follows, and what becomes of it. */
    String course() {
        List<String> moves = IntStream.of(group.tasks(task -> active[task] != group.owners[task]))
            .mapToObj(task -> group.tasks[task] + " " + id(group.owners[task]) + ">" + id(active[task]))
            .collect(Collectors.toList());
        List<String> copied = warmups.stream().map(copy -> group.tasks[copy.task] + ">" + id(copy.member))
            .collect(Collectors.toList());
        Map<String, String> slots = new LinkedHashMap<>();
        target.slots.forEach((slot, member) -> slots.put(slot, id(member)));
        String next = again == null ? "never by nobody" : again + " by " + id(carrier);
        return String.format(
            "kstream-plan: %s %s slots %s moves %d %s warm-ups %d %s waiting %d and %d standbys, again %s",
            target.isPlan ? "plan" : "balanced", target.why, slots, moves.size(), moves,
            copied.size(), copied, waiting.size(), waitingStandbys.size(), next);
    }

    /**
     * What comes out, as Kafka's HighAvailabilityTaskAssignor words it. Offsets are not known to assignors: each is
     * given as the largest lag of all members less a member's own.
     */
    String assignment() {
        long[] largest = Arrays.stream(group.lags).mapToLong(lags -> Arrays.stream(lags).max().orElse(0)).toArray();
        StringBuilder text = new StringBuilder("Decided on assignment: {");
        for (int place = 0; place < group.members.length; place++) {
            int member = place;
            int[] run = group.tasks(task -> active[task] == member);
            int[] held = group.tasks(task -> copies[task].get(member));
            int[] reported = group.tasks(task -> group.isStateful[task]
                && (group.owned[member].get(task) || group.state[member].get(task)));
            text.append(member == 0 ? "" : ", ").append(id(member)).append("=[");
            append(text, "activeTasks", run, null);
            append(text, "standbyTasks", held, null);
            append(text, "prevActiveTasks", group.owned[member].stream().toArray(), null);
            append(text, "prevStandbyTasks", group.state[member].stream().toArray(), null);
            append(text, "changelogOffsetTotalsByTask", reported, task -> group.lags[task][member] < 0
                ? group.lags[task][member] : largest[task] - group.lags[task][member]);
            append(text, "taskLagTotals", group.stateful, task -> group.lags[task][member]);
            text.append("clientTags: (").append(new TreeMap<>(group.members[member].clientTags()).entrySet())
                .append(") capacity: ").append(group.threads[member])
                .append(" assigned: ").append(run.length + held.length).append(']');
        }
        return text + (again == null ? "} with no" : "} with") + " followup probing rebalance.";
    }

    private void append(StringBuilder text, String name, int[] tasks, IntToLongFunction value) {
        text.append(name).append(": ([");
        for (int at = 0; at < tasks.length; at++) {
            text.append(at == 0 ? "" : ", ").append(group.tasks[tasks[at]]);
            if (value != null) {
                text.append('=').append(value.applyAsLong(tasks[at]));
            }
        }
        text.append("]) ");
    }

    private String id(int member) {
        return member == Group.NONE ? "null" : group.members[member].processId().toString();
    }
}
