#!/bin/sh
# nginx's stream module from port $1 to port $2 of the loopback. THREADS: processes (2).
set -e
folder=$(mktemp -d)
cat > "$folder/nginx.conf" <<END
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
worker_processes ${THREADS:-2};
daemon off;
pid $folder/pid;
error_log $folder/log emerg;
worker_rlimit_nofile 100000;
events { worker_connections ${CONNECTIONS:-4000}; }
stream {
  server { listen 127.0.0.1:$1 reuseport; proxy_pass 127.0.0.1:$2; proxy_timeout 1h; proxy_half_close on; tcp_nodelay on; }
}
END
chmod 755 "$folder"
exec nginx -p "$folder" -c "$folder/nginx.conf" -e "$folder/log"
