environment = [
  { name = "STREAMS_NUM_STANDBY_REPLICAS", value = "1" },
  { name = "STREAMS_MAX_WARMUP_REPLICAS", value = "6" },
]
