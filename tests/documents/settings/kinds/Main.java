Properties props = new Properties();
props.put(StreamsConfig.APPLICATION_ID_CONFIG, "orders");
props.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "b:9092");
props.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
props.put(StreamsConfig.MAX_WARMUP_REPLICAS_CONFIG, 6);
