import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

/** As libs/database/src/scoped-query.ts has it. */
const TENANT_SUFFIX = '_tenant';
const MERCHANT = "current_setting('fgw.merchant_id', true)";
/** The lock waits behind every statement on the table, and all that come after it wait behind the lock: rather give way. */
const LOCK_TIMEOUT_MS = 100;
const LOCK_PAUSE_MS = 250;
const LOCK_TRIES = 400;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Rows of a table without a merchant's id belong to whom the row belongs that they name.
 * @param {string} parent
 * @param {string} column
 * @param {string} [key]
 */
const through = (parent, column, key = 'id') =>
  `EXISTS (SELECT FROM ${parent} WHERE ${parent}.${key} = %table%.${column})`;

/** Not by EXISTS, which is answered from a hash of all receipts: of a table in partitions, one for each. */
const OF_ITS_RECEIPT = '(SELECT true FROM receipts WHERE receipts.id = %table%.receipt_id)';

/**
 * Whose a row is, for tables without a column `merchant_id`. `%table%` stands for the table itself.
 * @type {Readonly<Record<string, string>>}
 */
export const OWNERS = {
  merchants: `id = ${MERCHANT}`,
  attempts: OF_ITS_RECEIPT,
  // Asked in turn: of a receipt that is here the archive is not read.
  idempotency_claims: `coalesce(${OF_ITS_RECEIPT}, ${OF_ITS_RECEIPT.replaceAll('receipts', 'archived_receipts')})`,
  archived_attempts: OF_ITS_RECEIPT,
  attempt_claims: through('devices', 'device_id'),
  lanes: through('devices', 'device_id'),
  device_tasks: through('devices', 'device_id'),
  link_keys: through('devices', 'device_id'),
  link_enrolments: through('devices', 'device_id'),
  link_presences: through('devices', 'device_id'),
  terminal_challenges: through('devices', 'device_id'),
  emulated_registers: through('devices', 'device_id'),
  emulated_documents: through('devices', 'device_id'),
  emulated_forced: through('devices', 'device_id'),
  restore_checks: through('devices', 'device_id'),
  z_reports: through('shifts', 'shift_id'),
  client_keys: through('oauth_clients', 'client_id'),
  client_assertions: through('oauth_clients', 'client_id'),
  oauth_tokens: through('oauth_clients', 'client_id'),
  signature_nonces: through('client_keys', 'key_id'),
  catalog_sync_items: through('catalog_syncs', 'sync_id'),
  catalog_import_rejects: through('catalog_imports', 'import_id'),
  payment_calls: through('payments', 'payment_id'),
  payment_refunds: through('payments', 'payment_id'),
  extra_charges: through('payments', 'payment_id'),
  settlement_differences: through('settlements', 'settlement_id'),
  provider_transactions: through('provider_accounts', 'account_id'),
  provider_callbacks: through('provider_accounts', 'account_id'),
  message_attempts: through('messages', 'message_id'),
  webhook_attempts: through('webhook_deliveries', 'delivery_id'),
  webhook_secrets: `owner_id = ${MERCHANT} OR ${through('webhook_endpoints', 'owner_id')}`,
};

/** What a policy of today reads, and the one of a release before did not: it is made anew. */
const READS_NOW = { idempotency_claims: 'archived_receipts' };

/** The same for all merchants, or of none: every program reads them as they are. */
export const SHARED = [
  ...['_prisma_migrations', 'classifier_entries', 'classifier_history', 'classifier_imports', 'classifier_drafts'],
  ...['catalog_words', 'database_identity', 'event_renumberings', 'message_keys', 'archives'],
  ...['released_partitions', 'partition_rounds'],
  // People belong to no merchant; what they may do at one stands in `memberships`.
  ...['users', 'user_sessions', 'passkeys', 'used_challenges'],
];

/** @param {string} appRole */
export function tenantOf(appRole) {
  return `${appRole}${TENANT_SUFFIX}`;
}

/**
 * The role under which statements of one merchant run; the programs may take it, and it may nothing that they may not.
 * @param {pg.Client} client as one who may make roles
 * @param {string} appRole
 */
export async function ensureTenantRole(client, appRole) {
  const [app, tenant] = [appRole, tenantOf(appRole)].map((role) => pg.escapeIdentifier(role));
  const { rows } = await client.query(
    `SELECT to_regrole(quote_ident($1)) AS role, current_setting('server_version_num')::int >= 160000 AS has_options,
            EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid JOIN pg_roles a ON a.oid = m.member
                     WHERE r.rolname = $1 AND a.rolname = $2) AS is_granted`,
    [tenantOf(appRole), appRole],
  );
  if (rows[0].role === null) await client.query(`CREATE ROLE ${tenant} NOLOGIN`);
  // What a role inherits it has at all times, and the programs' own policy says more than the merchant's.
  const options = rows[0].has_options ? ' WITH INHERIT FALSE' : '';
  if (!rows[0].is_granted) await client.query(`GRANT ${tenant} TO ${app}${options}`);
}

/**
 * Row-level security (docs/adr/0090-row-security.md) on every table that has a merchant's rows, where it is not there yet. The policies
 * come before it is switched on, each table by itself: no statement meets a table that shows nothing.
 * @param {pg.Client} client as the owner
 * @param {string} appRole
 */
export async function secureRows(client, appRole) {
  const { rows } = await client.query(
    `SELECT c.relname AS name, c.relrowsecurity AS is_on,
            EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'merchant_id' AND NOT a.attisdropped) AS has_merchant,
            coalesce((SELECT jsonb_object_agg(p.polname, pg_get_expr(p.polqual, p.polrelid)) FROM pg_policy p
                       WHERE p.polrelid = c.oid), '{}') AS policies
       FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace ORDER BY c.relname`,
  );
  for (const { name, is_on: isOn, has_merchant: hasMerchant, policies } of rows) {
    const owner = OWNERS[name] ?? (hasMerchant ? `merchant_id = ${MERCHANT}` : null);
    if (owner === null || SHARED.includes(name)) continue;
    const isOld = !String(policies.merchant).includes(Object(READS_NOW)[name] ?? '');
    if (!isOn || !('programs' in policies) || !('merchant' in policies) || isOld)
      await secureTable(client, appRole, { name, owner });
  }
}

/**
 * @param {pg.Client} client
 * @param {string} appRole
 * @param {{ name: string, owner: string }} table
 */
async function secureTable(client, appRole, { name, owner }) {
  const [table, app, tenant] = [name, appRole, tenantOf(appRole)].map((one) => pg.escapeIdentifier(one));
  const condition = owner.replaceAll('%table%', String(table));
  const statements = `
    SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS};
    DROP POLICY IF EXISTS programs ON ${table};
    DROP POLICY IF EXISTS merchant ON ${table};
    CREATE POLICY programs ON ${table} TO ${app} USING (true) WITH CHECK (true);
    CREATE POLICY merchant ON ${table} TO ${tenant} USING (${condition}) WITH CHECK (${condition});
    ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`;
  for (let tries = 1; ; tries += 1) {
    try {
      await client.query(`BEGIN; ${statements}; COMMIT`);
      return;
    } catch (error) {
      await client.query('ROLLBACK');
      const isBusy = error instanceof Error && Object(error).code === LOCK_NOT_AVAILABLE;
      if (!isBusy || tries === LOCK_TRIES) throw error;
      await delay(LOCK_PAUSE_MS);
    }
  }
}
