#!/bin/sh
# HAProxy in TCP mode with splicing, from port $1 to port $2 of the loopback. THREADS: threads (2).
set -e
config=$(mktemp)
cat > "$config" <<END
global
  nbthread ${THREADS:-2}
  maxconn ${CONNECTIONS:-4000}
defaults
  mode tcp
  option splice-auto
  timeout connect 10s
  timeout client 1h
  timeout server 1h
  timeout client-fin 1h
  timeout tunnel 1h
  retries 0
listen l
  bind 127.0.0.1:$1
  server s 127.0.0.1:$2
END
exec haproxy -db -q -f "$config"
