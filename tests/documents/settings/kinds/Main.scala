val p = new Properties()
p.put(StreamsConfig.APPLICATION_ID_CONFIG, "orders")
p.setProperty("num.standby.replicas", "1")
p.setProperty("max.warmup.replicas", "6")
