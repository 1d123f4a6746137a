#!/bin/sh
# Puts the database of a point in time into PGDATA, which must be empty: `restore.sh '2026-01-31 03:00:00+05'`, or without a time all that
# the archive has. The server recovers when it is started next. Then follow docs/backup.md, "After putting back an older database".
set -eu
folder=${BACKUP_DIR:-/backup}
until=${1:-}

fail() { echo "restore: $1" >&2; exit 1; }

[ -z "$(ls -A "$PGDATA" 2>/dev/null)" ] || fail "$PGDATA is not empty; put it aside first"
if [ -n "$until" ]; then
  wanted=$(date -u -d "$until" +%Y%m%dT%H%M%SZ 2>/dev/null) || fail "'$until' is no time; write it with its offset, such as 2026-01-31 03:00:00+05"
else
  wanted=99999999T999999Z
fi

# The newest that had ended by then: a backup is of no use for a time before its end.
base=
for each in "$folder"/base/*Z; do
  [ -d "$each" ] || continue
  name=$(basename "$each")
  # Names are of one length: their order is that of time.
  if [ "$(printf '%s\n%s\n' "$name" "$wanted" | sort | head -n 1)" = "$name" ]; then base=$each; fi
done
[ -n "$base" ] || fail "no base backup had ended by then; there are: $(ls "$folder/base" 2>/dev/null | tr '\n' ' ')"

mkdir -p "$PGDATA"
chmod 700 "$PGDATA"
tar -xzf "$base/base.tar.gz" -C "$PGDATA"
# None where an older release took it: the log is in it then.
[ ! -f "$base/pg_wal.tar.gz" ] || tar -xzf "$base/pg_wal.tar.gz" -C "$PGDATA/pg_wal"
cp "$base/backup_manifest" "$PGDATA/backup_manifest"
pg_verifybackup --quiet "$PGDATA" || fail "$base is damaged"
{
  echo "restore_command = 'test -f \"$folder/wal/%f.gz\" && gzip -dc \"$folder/wal/%f.gz\" > \"%p\"'"
  # Also when there is none: the backup of a server that was restored once has its target still.
  echo "recovery_target_time = '$until'"
  echo "recovery_target_action = 'promote'"
  # No one reads before it is decided where the history ends.
  echo "hot_standby = 'off'"
} >> "$PGDATA/postgresql.auto.conf"
touch "$PGDATA/recovery.signal"
echo "restore: $base is unpacked; start the server, it recovers to ${until:-the end of the archive}"
