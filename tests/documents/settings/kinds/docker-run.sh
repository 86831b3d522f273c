#!/bin/sh
docker run -d --name orders \
  -e STREAMS_NUM_STANDBY_REPLICAS=1 \
  -e STREAMS_MAX_WARMUP_REPLICAS=6 \
  acme/orders
