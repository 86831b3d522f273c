import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A source connector with as many tasks as it may have, none of which ever has anything. */
public final class Idle extends SourceConnector {
    public String version() { return "1"; }
    public void start(final Map<String, String> settings) { }
    public void stop() { }
    public ConfigDef config() { return new ConfigDef(); }
    public Class<? extends Task> taskClass() { return Nothing.class; }

    public List<Map<String, String>> taskConfigs(final int most) {
        final List<Map<String, String>> configs = new ArrayList<>();
        for (int task = 0; task < most; task++) configs.add(Map.of("task", "" + task));
        return configs;
    }

    public static final class Nothing extends SourceTask {
        public String version() { return "1"; }
        public void start(final Map<String, String> settings) { }
        public void stop() { }

        public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(200);
            return null;
        }
    }
}
