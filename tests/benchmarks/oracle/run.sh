#!/usr/bin/env bash
# Kafka's own assignors behind JSON lines, one case per line on standard input:
#   run.sh assign|converge|bench [N WARM] [--no-timing] [--no-threads] [--no-trace] < cases
# The first run fetches Kafka's jars with Maven and compiles; ORACLE_HOME says where to (default: a cache directory).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
home=${ORACLE_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/kstream-plan-oracle}
if [ ! -d "$home/jars" ]; then
  mkdir -p "$home"
  mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$home/jars" >&2
fi
newest=$(ls -t "$here"/*.java | head -1)
if [ ! -d "$home/classes" ] || [ "$newest" -nt "$home/classes" ]; then
  mkdir -p "$home/classes"
  javac -nowarn -cp "$home/jars/*" -d "$home/classes" "$here"/Oracle.java "$here"/OracleThreads.java >&2
  touch "$home/classes"
fi
exec java ${JAVA_OPTS:-} -cp "$home/classes:$home/jars/*" org.apache.kafka.streams.processor.internals.assignment.Oracle "$@"
