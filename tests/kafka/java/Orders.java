import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Properties;

/**
 * A small application: a store of counts over "orders", and a subtopology without state from "audit" to "audit-out".
 * The topics' names begin with the application's id.
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
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(15))));
        streams.start();
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
