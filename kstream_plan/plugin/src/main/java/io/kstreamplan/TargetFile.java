package io.kstreamplan;

import java.io.*;
import java.nio.ByteBuffer;
import java.nio.charset.*;
import java.nio.file.*;
import java.time.*;
import java.util.*;
import java.util.regex.Pattern;
import org.apache.kafka.streams.processor.TaskId;

/** A target file, format 1: what every slot is to run, and how to get there. */
final class TargetFile {
    private static final int MOST_BYTES = 1 << 20;
    private static final List<String> KEYS =
        List.of("format", "plan", "application", "expires", "extra", "warmups", "probe.ms", "order", "slots", "end");
    private static final String TIME = "2[0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z";
    private static final String MATCH = "(?s)new|(process|client|static):.+|host:.+:[0-9]+|tag:[^=]+=.*";
    private static final Pattern TASK = Pattern.compile("(0|[1-9][0-9]{0,8})_(0|[1-9][0-9]{0,8})");

    final String plan;
    final String application;
    final Instant expires;
    final String extra;
    final int warmups;
    final long probeMs;
    final List<TaskId> order;
    final List<Slot> slots = new ArrayList<>();

    /** What one member is to run and to hold, and which one it is. */
    static final class Slot {
        final String name;
        final String match;
        final List<TaskId> active;
        final List<TaskId> standby;

        private Slot(String name, Map<String, String> values) throws Refused {
            this.name = checked(name, "[a-z0-9-]{1,40}");
            match = checked(values.get("slot." + name + ".match"), MATCH);
            active = tasks(values.get("slot." + name + ".active"));
            standby = tasks(values.get("slot." + name + ".standby"));
        }
    }

    /** The file does not count, for what the message says, a code. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1L;

        Refused(String code) {
            super(code);
        }
    }

    static void refuseIf(boolean isRefused, String code) throws Refused {
        if (isRefused) {
            throw new Refused(code);
        }
    }

    /** Reads the file of that name, which may be null. */
    static TargetFile read(String name) throws Refused {
        byte[] bytes;
        refuseIf(name == null, "no-file");
        try {
            refuseIf(!Files.isRegularFile(Path.of(name)), "no-file"); // another kind may block the leader
            try (InputStream in = Files.newInputStream(Path.of(name))) {
                bytes = in.readNBytes(MOST_BYTES + 1);
            }
        } catch (IOException | InvalidPathException | SecurityException unreadable) {
            throw new Refused("no-file");
        }
        refuseIf(bytes.length > MOST_BYTES, "too-large");
        try {
            return new TargetFile(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
        } catch (CharacterCodingException malformed) {
            throw new Refused("not-utf-8");
        }
    }

    private TargetFile(String text) throws Refused {
        Map<String, String> values = values(text);
        refuseIf(!"1".equals(values.get("format")), "format");
        List<String> names = entries(values.getOrDefault("slots", ""));
        Set<String> keys = new HashSet<>(KEYS);
        names.forEach(name -> List.of(".match", ".active", ".standby").forEach(key -> keys.add("slot." + name + key)));
        refuseIf(!values.keySet().containsAll(keys), "missing-key");
        refuseIf(!keys.containsAll(values.keySet()), "unknown-key");
        plan = checked(values.get("plan"), "[0-9a-f]{12,64}");
        application = values.get("application");
        try {
            expires = OffsetDateTime.parse(checked(values.get("expires"), TIME)).toInstant();
        } catch (DateTimeException noSuchDay) {
            throw new Refused("bad-value");
        }
        extra = checked(values.get("extra"), "balance|wait");
        warmups = (int) number(values.get("warmups"), 1, 10_000);
        probeMs = number(values.get("probe.ms"), 5_000, 86_400_000);
        order = tasks(values.get("order"));
        refuseIf(names.isEmpty() || new HashSet<>(names).size() < names.size(), "bad-value");
        for (String name : names) {
            slots.add(new Slot(name, values));
        }
    }

    private static Map<String, String> values(String text) throws Refused {
        Map<String, String> values = new HashMap<>();
        String key = "";
        for (String raw : text.split("\n")) {
            String line = trimmed(raw);
            if (!line.isEmpty() && !line.startsWith("#")) {
                int equals = line.indexOf('=');
                key = line.substring(0, Math.max(0, equals));
                refuseIf(!key.matches("[a-z0-9.-]+"), "syntax");
                refuseIf(values.put(key, line.substring(equals + 1)) != null, "duplicate-key");
            }
        }
        refuseIf(!key.equals("end") || !values.get(key).equals(String.valueOf(values.size() - 1)), "truncated");
        return values;
    }

    /** Without blanks at both ends; an expression would take time by the square of their number. */
    private static String trimmed(String line) {
        int from = 0;
        int to = line.length();
        while (from < to && " \t\r".indexOf(line.charAt(from)) >= 0) {
            from++;
        }
        while (to > from && " \t\r".indexOf(line.charAt(to - 1)) >= 0) {
            to--;
        }
        return line.substring(from, to);
    }

    private static List<String> entries(String list) {
        return list.isEmpty() ? List.of() : List.of(list.split(",", -1));
    }

    private static String checked(String value, String form) throws Refused {
        refuseIf(!value.matches(form), "bad-value");
        return value;
    }

    private static long number(String value, long least, long most) throws Refused {
        long number = Long.parseLong(checked(value, "0|[1-9][0-9]{0,9}"));
        refuseIf(number < least || number > most, "bad-value");
        return number;
    }

    private static List<TaskId> tasks(String list) throws Refused {
        List<TaskId> tasks = new ArrayList<>();
        for (String entry : entries(list)) {
            refuseIf(!TASK.matcher(entry).matches(), "bad-value");
            tasks.add(TaskId.parse(entry));
        }
        return tasks;
    }
}
