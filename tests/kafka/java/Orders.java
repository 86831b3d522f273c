import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StandbyUpdateListener;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.TaskId;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Properties;

/**
 * A small application: a store of counts over "orders", and a subtopology without state from "audit" to "audit-out".
 * The topics' names begin with the application's id. With the setting "leave.on.close" it leaves the group when it ends;
 * with "restored.per.second" each thread that restores takes so long.
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
        final KafkaStreams streams = new KafkaStreams(topology, settings);
        final String rate = settings.getProperty("restored.per.second");
        if (rate != null) {
            throttle(streams, Long.parseLong(rate));
        }
        // the options of every release since 3.3; newer ones have another class beside it
        final KafkaStreams.CloseOptions closing = new KafkaStreams.CloseOptions()
            .leaveGroup(Boolean.parseBoolean(settings.getProperty("leave.on.close")))
            .timeout(Duration.ofSeconds(25));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(closing)));
        streams.start();
    }

    private static void throttle(final KafkaStreams streams, final long perSecond) {
        streams.setGlobalStateRestoreListener(new StateRestoreListener() {
            @Override
            public void onRestoreStart(final TopicPartition of, final String store, final long from, final long to) { }

            @Override
            public void onBatchRestored(final TopicPartition of, final String store, final long to, final long records) {
                pause(records, perSecond);
            }

            @Override
            public void onRestoreEnd(final TopicPartition of, final String store, final long records) { }
        });
        streams.setStandbyUpdateListener(new StandbyUpdateListener() {
            @Override
            public void onUpdateStart(final TopicPartition of, final String store, final long from) { }

            @Override
            public void onBatchLoaded(final TopicPartition of, final String store, final TaskId task,
                                      final long to, final long records, final long end) {
                pause(records, perSecond);
            }

            @Override
            public void onUpdateSuspended(final TopicPartition of, final String store, final long at, final long end,
                                          final SuspendReason reason) { }
        });
    }

    private static void pause(final long records, final long perSecond) {
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
