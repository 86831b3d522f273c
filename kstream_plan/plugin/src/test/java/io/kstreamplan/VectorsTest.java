package io.kstreamplan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Recorded decisions come out bit for bit; -Dvectors=FOLDER says of which folder. */
class VectorsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path VECTORS = Path.of(System.getProperty("vectors", "src/test/vectors"));

    @TempDir
    private Path folder;

    @Test
    void decisionsAreAsRecorded() throws IOException {
        int number = 0;
        try (BufferedReader lines = lines("planned-decisions.jsonl.gz")) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonNode row = JSON.readTree(line);
                assertDecidesAsRecorded(row, row.get("id").asText());
                number++;
            }
        }
        System.out.println(number + " recorded decisions are the same");
        assertTrue(number > 0);
    }

    @Test
    void sequencesAreAsRecorded() throws IOException {
        int number = 0;
        try (BufferedReader lines = lines("planned-sequences.jsonl.gz")) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                number++;
                for (JsonNode round : JSON.readTree(line).get("rounds")) {
                    assertDecidesAsRecorded(round, "sequence " + number + " at " + round.get("at_ms"));
                }
            }
        }
        System.out.println(number + " recorded sequences are the same");
        assertTrue(number > 0);
    }

    private static BufferedReader lines(String name) throws IOException {
        return new BufferedReader(new InputStreamReader(
            new GZIPInputStream(Files.newInputStream(VECTORS.resolve(name))), StandardCharsets.UTF_8));
    }

    private void assertDecidesAsRecorded(JsonNode row, String name) throws IOException {
        RecordedGroup group = new RecordedGroup(row.get("group"));
        PlanTaskAssignor assignor = assignor(row, group);
        Decision decision = assignor.decide(group);
        ObjectNode decided = decided(decision);
        ObjectNode expected = (ObjectNode) row.get("decision");
        expected.fieldNames().forEachRemaining(
            key -> assertEquals(expected.get(key), decided.get(key), name + ": " + key));
        assertEquals(expected, decided, name);
        for (KafkaStreamsAssignment member : assignor.assign(group).assignment()) {
            String id = member.processId().toString();
            Set<TaskId> active = RecordedGroup.tasks(expected.get("active").get(id));
            Set<TaskId> standby = RecordedGroup.tasks(expected.get("standby").get(id));
            assertEquals(active, tasks(member, AssignedTask.Type.ACTIVE), name);
            assertEquals(standby, tasks(member, AssignedTask.Type.STANDBY), name);
            Instant again = expected.get("followup_on").asText("").equals(id)
                ? Instant.ofEpochMilli(expected.get("followup_ms").asLong()) : null;
            assertEquals(again, member.followupRebalanceDeadline().orElse(null), name);
        }
    }

    private static Set<TaskId> tasks(
        KafkaStreamsAssignment member, AssignedTask.Type type
    ) {
        return member.tasks().values().stream().filter(task -> task.type() == type).map(AssignedTask::id)
            .collect(Collectors.toSet());
    }

    private PlanTaskAssignor assignor(JsonNode row, RecordedGroup group) throws IOException {
        Instant now = Instant.ofEpochMilli(row.get("now_ms").asLong());
        PlanTaskAssignor assignor = new PlanTaskAssignor(Clock.fixed(now, ZoneOffset.UTC));
        Map<String, Object> settings = new HashMap<>();
        settings.put("application.id", group.application);
        settings.put("client.id", group.leader);
        if (row.hasNonNull("file") || row.has("file_base64")) {
            Path file = Files.write(folder.resolve("target.properties"), contentOf(row));
            settings.put(PlanTaskAssignor.FILE, file.toString());
        }
        assignor.configure(settings);
        return assignor;
    }

    private static byte[] contentOf(JsonNode row) {
        if (row.has("file_base64")) {
            return Base64.getDecoder().decode(row.get("file_base64").asText());
        }
        byte[] content = row.get("file").asText().getBytes(StandardCharsets.UTF_8);
        byte[] padded = Arrays.copyOf(content, Math.max(content.length, row.path("file_padded").asInt(0)));
        Arrays.fill(padded, content.length, padded.length, (byte) '\n');
        return padded;
    }

    private static ObjectNode decided(Decision decision) {
        ObjectNode out = JSON.createObjectNode();
        out.put("mode", decision.target.isPlan ? "plan" : "balanced");
        out.put("why", decision.target.why);
        ObjectNode slots = out.putObject("slots");
        decision.target.slots.forEach((slot, member) -> slots.put(slot, id(decision, member)));
        ObjectNode active = out.putObject("active");
        ObjectNode standby = out.putObject("standby");
        for (int place = 0; place < decision.group.members.length; place++) {
            int member = place;
            putTasks(active.putArray(id(decision, member)), decision, task -> decision.active[task] == member);
            putTasks(standby.putArray(id(decision, member)), decision, task -> decision.copies[task].get(member));
        }
        ArrayNode warm = out.putArray("warm");
        decision.warmups.forEach(copy -> putCopy(warm, decision, copy));
        ArrayNode waiting = out.putArray("waiting");
        decision.waiting.forEach(copy -> waiting.add(decision.group.tasks[copy.task].toString()));
        ArrayNode waitingStandbys = out.putArray("standbys_waiting");
        decision.waitingStandbys.forEach(copy -> putCopy(waitingStandbys, decision, copy));
        if (decision.again == null) {
            out.putNull("followup_ms").putNull("followup_on");
        } else {
            out.put("followup_ms", decision.again.toEpochMilli()).put("followup_on", id(decision, decision.carrier));
        }
        return out;
    }

    private static void putCopy(ArrayNode list, Decision decision, Decision.Copy copy) {
        list.addArray().add(decision.group.tasks[copy.task].toString()).add(id(decision, copy.member));
    }

    private static void putTasks(ArrayNode list, Decision decision, IntPredicate condition) {
        IntStream.range(0, decision.group.tasks.length).filter(condition)
            .forEach(task -> list.add(decision.group.tasks[task].toString()));
    }

    private static String id(Decision decision, int member) {
        return decision.group.members[member].processId().toString();
    }
}
