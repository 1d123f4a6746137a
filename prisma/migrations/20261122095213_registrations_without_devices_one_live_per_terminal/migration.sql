DROP INDEX CONCURRENTLY "devices_one_live_per_terminal";
