package io.kstreamplan;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A group that has got a quarter more members, with a standby of each task, and the target file for them. */
final class LargeGroup {
    final RecordedGroup group;
    final String file;

    LargeGroup(int tasks, int members) {
        ObjectNode row = new ObjectMapper().createObjectNode();
        row.put("application", "large").put("leader", "large-StreamThread-1-consumer");
        row.putObject("config").put("acceptable_recovery_lag", 10_000).put("max_warmup_replicas", 2)
            .put("num_standby_replicas", 1).put("probing_rebalance_interval_ms", 600_000).putArray("tags").add("zone");
        List<String> ids = IntStream.range(0, tasks).mapToObj(task -> task % 10 + "_" + task / 10)
            .collect(Collectors.toList());
        ArrayNode stateful = row.putArray("stateful");
        ids.forEach(stateful::add);
        row.putArray("stateless");
        ArrayNode rows = row.putArray("members");
        int before = members * 4 / 5;
        List<String> slots = new ArrayList<>();
        for (int member = 0; member < members; member++) {
            String id = new UUID(member * 0x9E3779B97F4A7C15L, member).toString();
            List<String> active = everyNth(ids, member, members);
            List<String> standby = everyNth(ids, (member + 1) % members, members);
            slots.add("slot.s" + member + ".match=process:" + id + "\nslot.s" + member + ".active="
                + String.join(",", active) + "\nslot.s" + member + ".standby=" + String.join(",", standby) + "\n");
            addMember(rows.addObject(), id, member, before, ids);
        }
        group = new RecordedGroup(row);
        file = "format=1\nplan=0123456789ab\napplication=large\nexpires=2999-01-01T00:00:00Z\nextra=balance\n"
            + "warmups=100\nprobe.ms=15000\norder=" + String.join(",", ids) + "\nslots="
            + IntStream.range(0, members).mapToObj(member -> "s" + member).collect(Collectors.joining(",")) + "\n"
            + String.join("", slots) + "end=" + (9 + 3 * members) + "\n";
    }

    private static List<String> everyNth(List<String> ids, int first, int n) {
        return IntStream.range(0, ids.size()).filter(task -> task % n == first).mapToObj(ids::get)
            .collect(Collectors.toList());
    }

    private static void addMember(ObjectNode row, String id, int member, int before, List<String> ids) {
        row.put("id", id).put("threads", 2).putNull("host").putObject("tags").put("zone", "z" + member % 3);
        row.putArray("consumers").add("large-StreamThread-1-consumer-" + id).add("large-StreamThread-2-consumer-" + id);
        ArrayNode owned = row.putArray("owned");
        ArrayNode state = row.putArray("state");
        ObjectNode lags = row.putObject("lags");
        for (int task = 0; task < ids.size(); task++) {
            boolean runs = task % before == member;
            boolean copies = (task + 1) % before == member;
            lags.put(ids.get(task), runs ? -2 : copies ? task % 20_000 : 1_000_000);
            if (runs) {
                owned.add(ids.get(task));
            } else if (copies) {
                state.add(ids.get(task));
            }
        }
    }
}
