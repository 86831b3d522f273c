val config = mapOf(
    StreamsConfig.APPLICATION_ID_CONFIG to "orders",
    StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG to 1,
    StreamsConfig.MAX_WARMUP_REPLICAS_CONFIG to "6",
)
