@Bean(name = KafkaStreamsDefaultConfiguration.DEFAULT_STREAMS_CONFIG_BEAN_NAME)
public KafkaStreamsConfiguration config() {
    Map<String, Object> props = new HashMap<>();
    props.put(APPLICATION_ID_CONFIG, "orders");
    props.put("num.standby.replicas", "1");
    props.put(MAX_WARMUP_REPLICAS_CONFIG, 6);
    props.put(StreamsConfig.consumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 30_000);
    return new KafkaStreamsConfiguration(props);
}
