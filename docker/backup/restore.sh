#!/bin/sh
# Puts the database of a point in time into PGDATA, which must be empty: `restore.sh '2026-01-31 03:00:00+05'`, or without a time ('') all that
# the archive has. The server recovers when it is started next. Then follow docs/backup.md, "After putting back an older database".
# Each way back begins a timeline. What is brought is the one that ran at that time (without a time: the last), unless a second argument is its number.
set -eu
folder=${BACKUP_DIR:-/backup}
until=${1:-}
timeline=${2:-}

fail() { echo "restore: $1" >&2; exit 1; }

[ -z "$(ls -A "$PGDATA" 2>/dev/null)" ] || fail "$PGDATA is not empty; put it aside first"
case $timeline in *[!0-9]* | 0*) fail "'$timeline' is no timeline; it is a number, such as 1" ;; esac
if [ -n "$until" ]; then
  seconds=$(date -u -d "$until" +%s 2>/dev/null) || fail "'$until' is no time; write it with its offset, such as 2026-01-31 03:00:00+05"
  wanted=$(date -u -d "@$seconds" +%Y%m%dT%H%M%SZ)
else
  seconds=9999999999
  wanted=99999999T999999Z
fi

# A backup is of no use for a time before its end. Names are of one length: their order is that of time.
ended_by_then() {
  for each in "$folder"/base/*Z; do
    [ -d "$each" ] || continue
    name=$(basename "$each")
    if [ "$(printf '%s\n%s\n' "$name" "$wanted" | sort | head -n 1)" = "$name" ]; then echo "$name"; fi
  done
}
# The number is the first eight digits of a segment's name, and of the file in which a new timeline says where it left which other one.
timeline_of() { echo $((0x$(cut -c 1-8 "$folder/base/$1/first-segment"))); }
history_of() { printf '%s/wal/%08X.history.gz' "$folder" "$1"; }
# gzip keeps the time of the file: the server wrote it when the timeline began.
began() { od -An -t u4 -j 4 -N 4 "$1" | tr -d ' '; }
place() { echo $(((0x${1%/*} << 32) + 0x${1#*/})); }

bases=$(ended_by_then)
[ -n "$bases" ] || fail "no base backup had ended by then; there are: $(ls "$folder/base" 2>/dev/null | tr '\n' ' ')"

if [ -z "$timeline" ]; then
  timeline=0
  for each in $bases; do
    number=$(timeline_of "$each")
    [ "$number" -le "$timeline" ] || timeline=$number
  done
  for each in "$folder"/wal/*.history.gz; do
    [ -f "$each" ] && [ "$(began "$each")" -le "$seconds" ] || continue
    number=$((0x$(basename "$each" .history.gz)))
    [ "$number" -le "$timeline" ] || timeline=$number
  done
fi

# Whether a backup lies on the way to that timeline: on itself, or on one that it left, before the place at which it did.
leads_there() {
  number=$(timeline_of "$1")
  [ "$number" -ne "$timeline" ] || return 0
  [ -f "$(history_of "$timeline")" ] || return 1
  left_at=$(gzip -dc "$(history_of "$timeline")" | awk -v number="$number" '$1 == number { print $2 }')
  [ -n "$left_at" ] || return 1
  ended_at=$(sed -n 's/.*"End-LSN": "\([0-9A-F/]*\)".*/\1/p' "$folder/base/$1/backup_manifest" | tail -n 1)
  [ -n "$ended_at" ] || fail "$folder/base/$1 is damaged"
  [ "$(place "$ended_at")" -le "$(place "$left_at")" ]
}

base=
for each in $bases; do
  if leads_there "$each"; then base=$folder/base/$each; fi
done
[ -n "$base" ] || fail "no base backup that had ended by then leads to timeline $timeline; there are: $(echo "$bases" | tr '\n' ' ')"

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
  echo "recovery_target_timeline = '$timeline'"
  echo "recovery_target_action = 'promote'"
  # No one reads before it is decided where the history ends.
  echo "hot_standby = 'off'"
} >> "$PGDATA/postgresql.auto.conf"
touch "$PGDATA/recovery.signal"
echo "restore: $base is unpacked; start the server, it recovers to ${until:-the end of the archive} on timeline $timeline"
