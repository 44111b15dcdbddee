#!/bin/sh
# What the entrypoint of PostgreSQL's official image does with POSTGRES_USER and POSTGRES_PASSWORD.
set -eu
export PGDATA=/var/lib/postgresql/data
install -d -o postgres -g postgres -m 0700 "$PGDATA"
install -d -o postgres -g postgres /var/run/postgresql
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  install -o postgres -m 0600 /dev/null /tmp/password
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  as initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 --no-sync
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  as pg_ctl --wait --options="-c listen_addresses=''" start
  as createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_USER"
  as pg_ctl --wait --mode=fast stop
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups postgres -c listen_addresses='*'
