package org.apache.kafka.coordinator.group.streams;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.apache.kafka.coordinator.group.streams.topics.ConfiguredSubtopology;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;

/** One call of the assignor of 4.4: what members have is what they hold. */
final class ReleasedAssignor {
    private final GroupSpecImpl group;
    private final TopologyMetadata topology;

    ReleasedAssignor(final JsonNode c, final SortedMap<String, ConfiguredSubtopology> subtopologies) {
        final Map<String, MemberMetadataAndStateImpl> members = new HashMap<>();
        for (final JsonNode of : c.get("members")) {
            members.put(of.get("id").asText(), new MemberMetadataAndStateImpl(
                Optional.empty(), Optional.empty(), of.get("process").asText(), Map.of(), StreamsOracle.tasks(of.get("active")),
                StreamsOracle.tasks(of.get("standby")), Map.of(), Map.of(), Map.of()));
        }
        group = new GroupSpecImpl(members, new AssignmentConfigsImpl(c.get("config").get("num_standby").asInt(), List.of()));
        topology = new TopologyMetadata(CoordinatorMetadataImage.EMPTY, subtopologies);
    }

    Map<String, TasksTuple> assign() {
        final Map<String, TasksTuple> found = new HashMap<>();
        new StickyTaskAssignor().assign(group, topology).members()
            .forEach((member, of) -> found.put(member, new TasksTuple(of.activeTasks(), of.standbyTasks(), Map.of())));
        return found;
    }
}
