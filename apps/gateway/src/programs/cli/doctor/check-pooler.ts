import { PrismaService, transactionsAt } from '#database';
import type { GatewaySettings } from '../../../settings.js';
import { well, type Finding } from './finding.js';

const CHECK = 'pooler';
const ADVICE =
  'Set them by connect_query of the pooler, as ops/pgbouncer/pgbouncer.ini does for gateways: else a statement whose program is gone keeps its locks.';
/** At most, milliseconds. */
const BOUNDS: Readonly<Record<string, number>> = {
  lock_timeout: 400,
  statement_timeout: 15_000,
  idle_in_transaction_session_timeout: 5_000,
  tcp_user_timeout: 8_000,
  client_connection_check_interval: 1_000,
};

/** Whether sessions behind a pooler have the deadlines that the programs cannot give them. */
export async function checkPooler(
  settings: Pick<GatewaySettings, 'DATABASE_URL' | 'DIRECT_DATABASE_URL'>,
): Promise<Finding[]> {
  if (settings.DIRECT_DATABASE_URL === undefined) return [well(CHECK, 'none: DIRECT_DATABASE_URL is not set')];
  const own = { poolSize: 1, applicationName: 'doctor', lockTimeoutMs: 5_000 };
  const database = new PrismaService({ ...own, ...transactionsAt(settings) });
  try {
    const given = await database.$queryRaw<{ name: string; value: number }[]>`
      SELECT name, setting::float8 AS value FROM pg_settings WHERE name = ANY(${Object.keys(BOUNDS)}::text[]) ORDER BY name`;
    const wrong = given.filter(({ name, value }) => value === 0 || value > (BOUNDS[name] ?? Infinity));
    if (wrong.length === 0) return [well(CHECK, 'its sessions have their deadlines')];
    const found = wrong.map(({ name, value }) => `${name} = ${String(value)}`).join(', ');
    return [{ check: CHECK, state: 'bad', found, do: ADVICE }];
  } finally {
    await database.$disconnect();
  }
}
