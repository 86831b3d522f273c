val props = Properties().apply {
    this[StreamsConfig.APPLICATION_ID_CONFIG] = "orders"
    this[StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG] = 1
    put(StreamsConfig.MAX_WARMUP_REPLICAS_CONFIG, 6)
}
