#!/usr/bin/env bash
# Restart the pods of a StatefulSet (updateStrategy: OnDelete) one by one, each once that is proven to be safe.
#
#   rolling-restart.sh SELECTOR GROUP BROKERS
#
# SELECTOR: label of the pods, as app=orders. GROUP: application.id. BROKERS: broker:9092.
# TOPOLOGY, STREAMS_CONFIG: files of the application; METRICS: its metrics, with {host} for each instance.
set -euo pipefail

selector=$1 group=$2 brokers=$3
source=(--bootstrap-server "$brokers" --group "$group")
[[ -z ${TOPOLOGY:-} ]] || source+=(--topology "$TOPOLOGY")
[[ -z ${STREAMS_CONFIG:-} ]] || source+=(--streams-config "$STREAMS_CONFIG")
metrics=(--metrics "${METRICS:-http://{host\}:9404/metrics}")

for pod in $(kubectl get pods --selector "$selector" --output name | sort --version-sort); do
    name=${pod#pod/}
    address=$(kubectl get "$pod" --output jsonpath='{.status.podIP}')
    kstream-plan wait safe-to-restart "$address" "${source[@]}" "${metrics[@]}" --give-up-after 30m
    echo "restarting $name"
    kubectl delete "$pod"
    kubectl wait --for=create "$pod" --timeout=10m
    kubectl wait --for=condition=Ready "$pod" --timeout=10m
    kstream-plan wait settled "${source[@]}" --for 10s --give-up-after 30m
done
