package io.kstreamplan;

import java.util.*;
import java.util.function.IntToLongFunction;
import java.util.stream.*;

/** Two lines for a decision: what it follows, and what comes out as Kafka's HighAvailabilityTaskAssignor words it. */
final class DecisionLog {
    private final Decision decision;
    private final Group group;
    private final String[] names;

    DecisionLog(Decision decision) {
        this.decision = decision;
        group = decision.group;
        names = Arrays.stream(group.tasks).map(Object::toString).toArray(String[]::new);
    }

    String course() {
        List<String> moves = IntStream.of(group.tasks(task -> decision.active[task] != group.owners[task]))
            .mapToObj(task -> names[task] + " " + id(group.owners[task]) + ">" + id(decision.active[task]))
            .collect(Collectors.toList());
        List<String> warmups = decision.warmups.stream().map(copy -> names[copy.task] + ">" + id(copy.member))
            .collect(Collectors.toList());
        Map<String, String> slots = new LinkedHashMap<>();
        decision.target.slots.forEach((slot, member) -> slots.put(slot, id(member)));
        String again = decision.again == null ? "never by nobody" : decision.again + " by " + id(decision.carrier);
        return String.format(
            "kstream-plan: %s %s slots %s moves %d %s warm-ups %d %s waiting %d and %d standbys, again %s",
            decision.target.isPlan ? "plan" : "balanced", decision.target.why, slots, moves.size(), moves,
            warmups.size(), warmups, decision.waiting.size(), decision.waitingStandbys.size(), again);
    }

    /** Offsets are not known to assignors: it gives the largest lag of all members less a member's own. */
    String assignment() {
        long[] largest = Arrays.stream(group.lags).mapToLong(lags -> Arrays.stream(lags).max().orElse(0)).toArray();
        StringBuilder text = new StringBuilder("Decided on assignment: {");
        for (int place = 0; place < group.members.length; place++) {
            int member = place;
            int[] active = group.tasks(task -> decision.active[task] == member);
            int[] standby = group.tasks(task -> decision.copies[task].get(member));
            int[] reported = group.tasks(task -> group.isStateful[task]
                && (group.owned[member].get(task) || group.state[member].get(task)));
            text.append(member == 0 ? "" : ", ").append(id(member)).append("=[");
            append(text, "activeTasks", active, null);
            append(text, "standbyTasks", standby, null);
            append(text, "prevActiveTasks", group.owned[member].stream().toArray(), null);
            append(text, "prevStandbyTasks", group.state[member].stream().toArray(), null);
            append(text, "changelogOffsetTotalsByTask", reported, task -> group.lags[task][member] < 0
                ? group.lags[task][member] : largest[task] - group.lags[task][member]);
            append(text, "taskLagTotals", group.stateful, task -> group.lags[task][member]);
            text.append("clientTags: (").append(new TreeMap<>(group.members[member].clientTags()).entrySet())
                .append(") capacity: ").append(group.threads[member])
                .append(" assigned: ").append(active.length + standby.length).append(']');
        }
        return text + (decision.again == null ? "} with no" : "} with") + " followup probing rebalance.";
    }

    private void append(StringBuilder text, String name, int[] tasks, IntToLongFunction value) {
        text.append(name).append(": ([");
        for (int at = 0; at < tasks.length; at++) {
            text.append(at == 0 ? "" : ", ").append(names[tasks[at]]);
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
