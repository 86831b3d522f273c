import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StateRestoreListener;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Locale;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A small application: a store of counts over "orders", and a subtopology without state from "audit" to "audit-out".
 * The topics' names begin with the application's id. With the setting "leave.on.close" it leaves the group when it ends;
 * with "restored.per.second" each thread that restores takes so long. "lags.to" is a file that gets a line of JSON twice a
 * second: what runs here, and how far each copy is by Kafka's own account. What a task that runs has to restore first is logged.
 */
public final class Orders {
    /** First argument: the file for what Topology.describe() prints; then settings, key=value. */
    public static void main(final String[] args) throws Exception {
        final Properties settings = new Properties();
        for (int i = 1; i < args.length; i++) {
            final String[] setting = args[i].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        final Topology topology = topology(settings.getProperty("application.id") + "-");
        Files.writeString(Path.of(args[0]), topology.describe().toString());
        final boolean leaves = Boolean.parseBoolean(settings.getProperty("leave.on.close"));
        final boolean canLeave = hasNewOptions(); // before 4.2 they are for static members alone
        if (leaves && !canLeave) {
            settings.put("internal.leave.group.on.close", "true");
        }
        final KafkaStreams streams = new KafkaStreams(topology, settings);
        listen(streams, Long.parseLong(settings.getProperty("restored.per.second", "0")));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(streams, leaves && canLeave)));
        streams.start();
        final String lags = settings.getProperty("lags.to");
        if (lags != null) {
            watch(streams, Path.of(lags));
        }
    }

    private static boolean hasNewOptions() {
        try {
            Class.forName("org.apache.kafka.streams.CloseOptions");
            return true;
        } catch (final ClassNotFoundException e) {
            return false;
        }
    }

    private static void close(final KafkaStreams streams, final boolean leaving) {
        final Duration most = Duration.ofSeconds(25);
        if (!leaving) {
            streams.close(most);
            return;
        }
        try {
            final Class<?> type = Class.forName("org.apache.kafka.streams.KafkaStreams$CloseOptions");
            final Object options = type.getConstructor().newInstance();
            type.getMethod("leaveGroup", boolean.class).invoke(options, true);
            type.getMethod("timeout", Duration.class).invoke(options, most);
            KafkaStreams.class.getMethod("close", type).invoke(streams, options);
        } catch (final ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void watch(final KafkaStreams streams, final Path file) {
        final Thread watch = new Thread(() -> {
            while (true) {
                try {
                    Files.writeString(file, lags(streams), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                    Thread.sleep(500);
                } catch (final InterruptedException | IOException e) {
                    return;
                } catch (final RuntimeException e) {
                    // not yet, or not any more: what has ended says nothing
                    if (!streams.state().isRunningOrRebalancing() && streams.state() != KafkaStreams.State.CREATED) return;
                }
            }
        }, "lags");
        watch.setDaemon(true);
        watch.start();
    }

    /** A line of JSON: when, the ids of the tasks that are active here, and by changelog partition [position, end]. */
    private static String lags(final KafkaStreams streams) {
        final String at = Instant.now().toString();
        final String active = activeTasks(streams).map(task -> "\"" + task + "\"").collect(Collectors.joining(","));
        final String copies = streams.allLocalStorePartitionLags().values().stream()
            .flatMap(ofStore -> ofStore.entrySet().stream())
            .map(of -> "\"" + of.getKey() + "\":[" + of.getValue().currentOffsetPosition() + "," + of.getValue().endOffsetPosition() + "]")
            .collect(Collectors.joining(","));
        return "{\"at\":\"" + at + "\",\"active\":[" + active + "],\"copies\":{" + copies + "}}\n";
    }

    /** The ids of the tasks that are active here; of threads another class tells before 3.0. */
    private static Stream<String> activeTasks(final KafkaStreams streams) {
        for (final String name : new String[] {"metadataForLocalThreads", "localThreadsMetadata"}) {
            try {
                final Collection<?> threads = (Collection<?>) KafkaStreams.class.getMethod(name).invoke(streams);
                return threads.stream().flatMap(thread -> ((Collection<?>) told(thread, "activeTasks")).stream())
                    .map(task -> told(task, "taskId").toString());
            } catch (final NoSuchMethodException e) {
                // of another release
            } catch (final ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
        throw new IllegalStateException("no method that tells of threads");
    }

    private static Object told(final Object metadata, final String name) {
        try {
            final Method method = metadata.getClass().getMethod(name);
            method.setAccessible(true);
            return method.invoke(metadata);
        } catch (final ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void listen(final KafkaStreams streams, final long perSecond) {
        streams.setGlobalStateRestoreListener(new StateRestoreListener() {
            @Override
            public void onRestoreStart(final TopicPartition of, final String store, final long from, final long to) {
                System.err.println(Instant.now() + " [orders] INFO Orders - restore start " + of + " from " + from + " to " + to);
            }

            @Override
            public void onBatchRestored(final TopicPartition of, final String store, final long to, final long records) {
                pause(records, perSecond);
            }

            @Override
            public void onRestoreEnd(final TopicPartition of, final String store, final long records) {
                System.err.println(Instant.now() + " [orders] INFO Orders - restore end " + of + " after " + records);
            }
        });
        for (final Method method : KafkaStreams.class.getMethods()) {
            if (method.getName().equals("setStandbyUpdateListener")) { // since 3.7; before, nothing tells of standbys
                listenTo(method, streams, perSecond);
            }
        }
    }

    private static void listenTo(final Method setter, final KafkaStreams streams, final long perSecond) {
        final Class<?>[] types = setter.getParameterTypes();
        final Object listener = Proxy.newProxyInstance(Orders.class.getClassLoader(), types, (proxy, called, arguments) -> {
            if (called.getName().equals("onBatchLoaded")) { // partition, store, task, offset, records, end offset
                pause((long) arguments[4], perSecond);
            }
            return null;
        });
        try {
            setter.invoke(streams, listener);
        } catch (final ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void pause(final long records, final long perSecond) {
        if (perSecond == 0) return;
        try {
            Thread.sleep(records * 1000 / perSecond);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Topology topology(final String prefix) {
        final StreamsBuilder builder = new StreamsBuilder();
        builder.stream(prefix + "orders", Consumed.with(Serdes.String(), Serdes.String()))
            .groupByKey()
            .count(Materialized.as("counts"));
        builder.stream(prefix + "audit", Consumed.with(Serdes.String(), Serdes.String()))
            .mapValues(value -> value.toUpperCase(Locale.ROOT))
            .to(prefix + "audit-out", Produced.with(Serdes.String(), Serdes.String()));
        return builder.build();
    }
}
