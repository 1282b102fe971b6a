#!/bin/sh
# ackclock-proxy from port $1 to port $2 of the loopback. THREADS: threads (2); PROXY: the binary; POLICY: a buffer policy.
set -e
config=$(mktemp)
cat > "$config" <<END
workers = ${THREADS:-2}
[[listen]]
address = "127.0.0.1:$1"
upstream = ["127.0.0.1:$2"]
buffer_policy = "${POLICY:-socket}"
buffer_policy_back = "${POLICY:-socket}"
[log]
level = "error"
END
exec "${PROXY:-target/release/ackclock-proxy}" "$config"
