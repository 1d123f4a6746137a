-- What the programs may do (role :app_role), set anew after every migration. The owner migrates, the programs never do. Under
-- :tenant_role they do what is done for one merchant: the same rights, and of all rows that merchant's (row-security.mjs).
GRANT USAGE ON SCHEMA public, bullmq TO :app_role, :tenant_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public, bullmq TO :app_role, :tenant_role;
GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public, bullmq TO :app_role, :tenant_role;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public, bullmq TO :app_role, :tenant_role;

-- The histories of migrations are the owner's.
REVOKE INSERT, UPDATE, DELETE ON _prisma_migrations, bullmq.migration FROM :app_role, :tenant_role;

-- The audit trail only grows.
REVOKE UPDATE, DELETE, TRUNCATE ON audit_records FROM :app_role, :tenant_role;

-- Receipts, attempts and events are never deleted by the programs, and of their columns only those move that are named here.
-- A new column that moves is named here; test/database/rights.int-spec.ts tries each one.
REVOKE UPDATE, DELETE, TRUNCATE ON receipts, attempts, events FROM :app_role, :tenant_role;
GRANT UPDATE (status, updated_at, device_id, lane_place, dispatch_before, extra_info, rejection,
              terminal_id, receipt_seq, fiscal_sign, verification_url, registered_at, evidence,
              recorded_fields, shift_number, moved_from,
              ofd_status, ofd_deadline_at, ofd_sent_at, ofd_error, ofd_alerts) ON receipts TO :app_role, :tenant_role;
GRANT UPDATE (state, closed_at, outcome) ON attempts TO :app_role, :tenant_role;
-- A copy that was put back may hold events of transactions that this server has not reached (hold-after-restore.ts).
GRANT UPDATE (transaction_id) ON events TO :app_role, :tenant_role;

-- Kept by triggers of attempts and of receipts.
REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON attempt_claims, idempotency_claims, external_id_claims, registration_claims FROM :app_role, :tenant_role;
REVOKE EXECUTE ON FUNCTION receipts_claim_identity(), receipts_claim_registration(), receipts_claims_follow() FROM :app_role, :tenant_role;

-- Who holds a terminal is given from one merchant to another, never forgotten.
REVOKE DELETE, TRUNCATE ON terminals FROM :app_role, :tenant_role;

-- What has left for an archive is recorded by the functions that remove it alone, and no merchant's statement has anything to do with it.
REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON archived_attempts, archived_receipts, archived_payments FROM :app_role, :tenant_role;
REVOKE DELETE, TRUNCATE ON archives FROM :app_role;
REVOKE ALL ON archives FROM :tenant_role;
REVOKE EXECUTE ON FUNCTION remove_archived_attempts(text, text[], text[]), remove_archived_receipts(text, text[], text[]),
  remove_archived_payments(text, text[], text[]), rows_of_archive(text, text, text[]) FROM :tenant_role;

-- Partitions are made, taken off and dropped by functions of the owner alone, and no merchant's statement has anything to do with that.
REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON released_partitions FROM :app_role;
REVOKE INSERT, DELETE, TRUNCATE ON partition_rounds FROM :app_role;
REVOKE ALL ON released_partitions, partition_rounds FROM :tenant_role;
REVOKE EXECUTE ON FUNCTION create_partition(text, text, text), shut_partitioned_table(text, text),
  put_back_rows(text, text, text, anyelement), staying_deliveries(text, text, timestamptz, integer), first_needed_events(text, text, bigint),
  claim_open_call(), claim_open_attempt(), unfinished_payments(timestamptz), staying_payment_calls(timestamptz, timestamptz, integer)
  FROM :app_role, :tenant_role;
REVOKE EXECUTE ON FUNCTION make_next_partition(text, integer), date_sandbox_events(bigint[]), release_webhook_partitions(integer), release_event_partitions(integer),
  release_payment_partitions(text, integer), release_attempt_partitions(integer), release_emptied_partitions(text, integer), read_released_partition(text, text, integer), drop_released_partition(text, boolean) FROM :tenant_role;
