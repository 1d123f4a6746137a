import pg from 'pg';

/** The programs' role, with this behind it, is the one that sees one merchant's rows (scripts/lib/row-security.mjs). */
export const TENANT_SUFFIX = '_tenant';

/**
 * Both last until the end of the transaction, and a statement that stands alone is one: a connection that goes back to its pool is the
 * programs' own again.
 */
const ENTER = entering(true);
const ENTER_NAME = 'fgw_enter';
/** Begins, ends and settings of transactions: nothing that reads rows. */
const CONTROL = /^\s*(BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET|DEALLOCATE)\b/i;

function entering(isLocal: boolean): string {
  return `SELECT set_config('role', session_user || '${TENANT_SUFFIX}', ${isLocal}), set_config('fgw.merchant_id', $1, ${isLocal})`;
}

/** A session that serves one merchant to its end. */
export async function enterForGood(client: pg.Client, merchantId: string): Promise<void> {
  await client.query(entering(false), [merchantId]);
}

/** What `pg` has and its types do not say. */
interface Wire {
  parse(message: { name: string; text: string; types?: readonly number[] }): void;
  bind(message: { portal: string; statement: string; values: readonly unknown[] }): void;
  execute(message: { portal: string; rows: number }): void;
}
interface DriverQuery {
  callback: unknown;
  prepare(wire: Wire): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, wire: Wire): void;
}
type DriverQueryClass = new (config: pg.QueryConfig, values: unknown, callback: unknown) => DriverQuery;

/** Connections that have the statement prepared. */
const entered = new WeakSet<Wire>();
const Base = pg.Query as unknown as DriverQueryClass;

/**
 * A statement of one merchant. The merchant goes ahead of it in the same message to the server, so that it costs no round trip: up to
 * their common end the two are one transaction.
 */
class ScopedQuery extends Base {
  private hasEntered = false;
  private readonly merchantId: string;
  private readonly keepsPrepared: boolean;

  constructor(call: ScopedCall, merchantId: string) {
    super({ ...call.config, queryMode: 'extended' } as pg.QueryConfig, call.values, call.callback);
    this.merchantId = merchantId;
    this.keepsPrepared = call.keepsPrepared;
  }

  override prepare(wire: Wire): void {
    const name = this.keepsPrepared ? ENTER_NAME : '';
    if (!entered.has(wire)) wire.parse({ name, text: ENTER });
    wire.bind({ portal: '', statement: name, values: [this.merchantId] });
    wire.execute({ portal: '', rows: 0 });
    super.prepare(wire);
  }

  override handleDataRow(message: unknown): void {
    if (this.hasEntered) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, wire: Wire): void {
    if (this.hasEntered) super.handleCommandComplete(message, wire);
    else {
      this.hasEntered = true;
      if (this.keepsPrepared) entered.add(wire);
    }
  }
}

interface ScopedCall {
  config: pg.QueryConfig;
  values: unknown;
  callback: unknown;
  keepsPrepared: boolean;
}

/**
 * The call of `query` that does the same for one merchant; null for one that needs no merchant, and for a query that is handed over
 * whole: its session is the merchant's own (page-reader.ts).
 * @param wire the connection on which it will be made; null where a pooler gives each transaction another session
 */
export function scopedCall(call: readonly unknown[], merchantId: string, wire: object | null): unknown[] | null {
  const [first, ...rest] = call;
  if (first instanceof pg.Query) return null;
  const config = typeof first === 'string' ? { text: first } : (first as pg.QueryConfig);
  if (typeof config.text !== 'string' || CONTROL.test(config.text)) return null;
  const callback = rest.findLast((value) => typeof value === 'function');
  const values = Array.isArray(rest[0]) ? rest[0] : config.values;
  // A plan belongs to the role that it was made for. The first statement of a connection has no name: the server's "parsed"
  // would be taken for the other one's.
  const { name, ...unnamed } = config;
  const own =
    name !== undefined && name !== '' && wire !== null && entered.has(wire as Wire)
      ? { ...config, name: `${name}m` }
      : unnamed;
  const scoped = { config: own, values, callback: undefined, keepsPrepared: wire !== null };
  return [new ScopedQuery(scoped, merchantId), callback];
}
