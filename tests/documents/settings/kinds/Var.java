props.put(StreamsConfig.APPLICATION_ID_CONFIG, "orders");
props.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, config.standbys());
props.put(StreamsConfig.MAX_WARMUP_REPLICAS_CONFIG, 6);
