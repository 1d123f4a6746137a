DROP INDEX CONCURRENTLY "shifts_terminal_id_number_key";
