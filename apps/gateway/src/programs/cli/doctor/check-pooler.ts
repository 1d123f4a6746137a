import { PrismaService, transactionsAt } from '#database';
import type { GatewaySettings } from '../../../settings.js';
import { well, type Finding } from './finding.js';

const CHECK = 'pooler';
const ADVICE =
  'Set them by connect_query of the pooler, as ops/pgbouncer/pgbouncer.ini does: without them a statement whose program is gone keeps its locks.';

/** Whether sessions behind a pooler have the deadlines that the programs cannot give them. */
export async function checkPooler(
  settings: Pick<GatewaySettings, 'DATABASE_URL' | 'DIRECT_DATABASE_URL'>,
): Promise<Finding[]> {
  if (settings.DIRECT_DATABASE_URL === undefined) return [well(CHECK, 'none: DIRECT_DATABASE_URL is not set')];
  const own = { poolSize: 1, applicationName: 'doctor', lockTimeoutMs: 5_000 };
  const database = new PrismaService({ ...own, ...transactionsAt(settings) });
  try {
    const missing = await database.$queryRaw<{ name: string }[]>`
      SELECT name FROM pg_settings
       WHERE name IN ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout') AND setting = '0'
       ORDER BY name`;
    if (missing.length === 0) return [well(CHECK, 'its sessions have their deadlines')];
    const found = `${missing.map(({ name }) => name).join(', ')} not set`;
    return [{ check: CHECK, state: 'bad', found, do: ADVICE }];
  } finally {
    await database.$disconnect();
  }
}
