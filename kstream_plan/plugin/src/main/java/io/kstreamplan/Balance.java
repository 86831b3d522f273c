package io.kstreamplan;

import static io.kstreamplan.Group.by;

import java.util.*;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/** The target without a file: every member its share by the fewest moves, standbys where most tags differ. */
final class Balance {
    private final Group group;
    private final Target target;
    private final long allThreads;
    /** By task: where it runs best, and after placeStateful() where it is to run. */
    private final int[] homes;
    /** By member: how many homes it is, of all tasks and of each subtopology's. */
    private final int[] held;
    private final Map<Integer, int[]> heldOfSubtopology = new HashMap<>();

    private Balance(Group group, String why) {
        this.group = group;
        int warmups = Math.max(1, group.settings.maxWarmupReplicas());
        target = new Target(group, false, why, warmups, group.settings.probingRebalanceIntervalMs(), null);
        allThreads = IntStream.of(group.threads).asLongStream().sum();
        homes = Decision.runners(group, target.active);
        held = new int[group.members.length];
        IntStream.of(group.stateful).forEach(task -> count(task, 1));
    }

    /** The target of a group for which no file counts, with the code that says why. */
    static Target target(Group group, String why) {
        Balance balance = new Balance(group, why);
        balance.placeStateful();
        balance.placeStandbys();
        balance.placeStateless();
        return balance.target;
    }

    private void count(int task, int difference) {
        held[homes[task]] += difference;
        heldOfSubtopology(task)[homes[task]] += difference;
    }

    private int[] heldOfSubtopology(int task) {
        return heldOfSubtopology.computeIfAbsent(group.tasks[task].subtopology(), key -> new int[held.length]);
    }

    /** Members above their quota give tasks: first to those that are caught up, then to those that have state. */
    private void placeStateful() {
        int[] quota = quota(group.stateful.length, held);
        for (int task : group.stateful) {
            giveIfAbove(quota, task, member -> group.rank(task, member) == 0);
        }
        for (int task : group.stateful) {
            giveIfAbove(quota, task, member -> group.state[member].get(task));
        }
        Map<List<Integer>, Integer> numbers = new HashMap<>();
        Map<Integer, List<Integer>> turns = new TreeMap<>(); // a member gives of all its subtopologies by turns
        for (int task : group.stateful) {
            int turn = numbers.merge(List.of(group.tasks[task].subtopology(), homes[task]), 1, Integer::sum);
            turns.computeIfAbsent(turn, key -> new ArrayList<>()).add(task);
        }
        turns.values().forEach(turn -> turn.forEach(task -> giveIfAbove(quota, task, member -> true)));
        IntStream.of(group.stateful).forEach(task -> target.active[task] = homes[task]);
    }

    private void giveIfAbove(int[] quota, int task, IntPredicate allowed) {
        if (held[homes[task]] > quota[homes[task]]) {
            int[] alike = heldOfSubtopology(task);
            int taker = group.least(member -> held[member] < quota[member] && allowed.test(member),
                by(member -> alike[member]), group.perThread(held));
            if (taker != Group.NONE) {
                count(task, -1);
                homes[task] = taker;
                count(task, 1);
                target.order.add(task);
            }
        }
    }

    private void placeStandbys() {
        int number = Math.min(group.settings.numStandbyReplicas(), held.length - 1);
        int[] copies = held.clone();
        long[] room = new long[held.length];
        long all = (long) group.stateful.length * (1 + number);
        Arrays.setAll(room, member -> (all * group.threads[member] + allThreads - 1) / allThreads);
        for (int task : group.stateful) {
            BitSet chosen = new BitSet();
            int[] alike = new int[held.length];
            Set<List<String>> values = new HashSet<>();
            int last = homes[task];
            for (int n = 0; n < number; n++) {
                chosen.set(last);
                countTagsLike(last, values, alike);
                last = group.least(member -> !chosen.get(member), by(member -> alike[member]),
                    by(member -> copies[member] >= room[member] ? 1 : 0), by(member -> stateOf(task, member)),
                    group.perThread(copies));
                copies[last]++;
                target.standbys[task].set(last);
                target.wantedStandbys[task]++;
            }
        }
    }

    /** 0 if a member has state of a task and is caught up, 1 if it has state, 2 if it has none. */
    private int stateOf(int task, int member) {
        boolean hasState = group.state[member].get(task) || group.owners[task] == member;
        return !hasState ? 2 : group.rank(task, member) == 0 ? 0 : 1;
    }

    /** Adds to what is counted by member: tags whose value is that of a copy's member, each value once. */
    private void countTagsLike(int chosen, Set<List<String>> values, int[] alike) {
        for (String tag : group.settings.rackAwareAssignmentTags()) {
            String value = group.members[chosen].clientTags().get(tag);
            if (value != null && values.add(List.of(tag, value))) {
                for (int member = 0; member < alike.length; member++) {
                    alike[member] += value.equals(group.members[member].clientTags().get(tag)) ? 1 : 0;
                }
            }
        }
    }

    private void placeStateless() {
        int[] count = held.clone();
        int[] has = held.clone();
        int[] stateless = group.tasks(task -> !group.isStateful[task]);
        IntStream.of(stateless).map(task -> group.owners[task]).filter(owner -> owner != Group.NONE)
            .forEach(owner -> has[owner]++);
        int[] quota = quota(group.tasks.length, has);
        for (int task : stateless) {
            int owner = group.owners[task];
            if (owner != Group.NONE && count[owner] < quota[owner]) {
                target.active[task] = owner;
                count[owner]++;
            }
        }
        for (int task : stateless) {
            if (target.active[task] == Group.NONE) {
                int taker = group.least(member -> count[member] < quota[member], group.perThread(count));
                taker = taker == Group.NONE ? group.least(member -> true, group.perThread(count)) : taker;
                target.active[task] = taker;
                count[taker]++;
            }
        }
    }

    /** Shares so many tasks out by threads; what rounding leaves goes to those that have more than their share. */
    private int[] quota(int number, int[] has) {
        long all = number;
        int[] share = IntStream.of(group.threads).map(threads -> (int) (all * threads / allThreads)).toArray();
        int[] quota = share.clone();
        for (int left = number - IntStream.of(share).sum(); left > 0; left--) {
            quota[group.least(
                member -> quota[member] == share[member] && all * group.threads[member] % allThreads != 0,
                by(member -> share[member] - has[member]))]++;
        }
        return quota;
    }
}
