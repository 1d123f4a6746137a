import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { PrismaService } from '#database';
import { CALL_TABLES } from '#ledger';
import { monthAt } from '../apps/device-relay/src/archive/testing/aged-partitions.js';
import { InboundRepository } from '../apps/gateway/src/payments/inbound/inbound.repository.js';
import { PaymentRepository } from '../apps/gateway/src/payments/repository/payment.repository.js';
import { createTestDatabase } from '../libs/database/src/testing/index.js';
import { partitionsBesideOne, sessionSeconds } from './partition-costs.js';
import type { Figure } from './report.js';

export interface CallPartitionsLoad {
  rounds: number;
  /** Calls of each kind of each month that is over. */
  perMonth: number;
  /** Statements of a kind in a round. */
  calls: number;
}

/** As many as are kept (PAYMENT_CALLS_KEEP_DAYS), beside this one and those that are made ahead. */
const MONTHS = 13;
const PAYMENT_STATE = 'authorized';

/** What PostgreSQL computes for each, seconds. */
interface Costs {
  call: number;
  facts: number;
  kept: number;
}

/** What calls of payments in partitions by month cost the statements of a payment, against the same calls in one table. */
export async function benchCallPartitions(load: CallPartitionsLoad): Promise<Figure[]> {
  const [one, parts] = [await Calls.open(load, false), await Calls.open(load, true)];
  try {
    return await partitionsBesideOne([one, parts], load.rounds, NAMES);
  } finally {
    await one.close();
    await parts.close();
  }
}

const NAMES: Readonly<Record<keyof Costs, string>> = {
  call: 'a call to a provider is opened and closed',
  facts: 'the facts of a payment are read',
  kept: 'a call of a provider is kept',
};

class Calls {
  private readonly payments: PaymentRepository;
  private readonly inbound: InboundRepository;

  private constructor(
    private readonly load: CallPartitionsLoad,
    private readonly database: Awaited<ReturnType<typeof createTestDatabase>>,
    private readonly owner: pg.Client,
    private readonly prisma: PrismaService,
  ) {
    this.payments = new PaymentRepository(prisma, { leaseSeconds: 600 } as never, {} as never);
    const seals = { seal: () => ({ reference: randomUUID(), sealed: Buffer.alloc(200) }) };
    this.inbound = new InboundRepository(prisma, {} as never, seals as never);
  }

  static async open(load: CallPartitionsLoad, isPartitioned: boolean): Promise<Calls> {
    const database = await createTestDatabase();
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    await (isPartitioned ? makeMonths(owner) : makeOneTable(owner));
    await owner.query(`
      INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'm', 'M', '300000000');
      INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed) VALUES ('pac_1', 'mer_1', 'payme', 'P', '{}', '\\x00');
      INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, document, total_tiyin, vat_total_tiyin)
      VALUES ('rcp_1', 'mer_1', 'cli_1', 'receipts', '', 'sale', 'rejected', 'dev_1', '{}', 1, 0);
      INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, lease_id, lease_until)
      VALUES ('pay_1', 'mer_1', 'pac_1', 'rcp_1', 'payme', 'hold', '${PAYMENT_STATE}', 1, now(), 'l', now() + interval '1 day')`);
    await owner.query(
      `INSERT INTO payment_calls (payment_id, call, lease_id, started_at, finished_at, outcome)
       SELECT 'pay_old_' || n, 'capture', 'l', now() - n * interval '13 months' / $1::int4, now(), '{"kind": "status"}' FROM generate_series(1, $1::int4) AS n`,
      [load.perMonth * MONTHS],
    );
    await owner.query(
      `INSERT INTO provider_callbacks (account_id, address, reference, operation, payment_id, received_at, answer)
       SELECT 'pac_1', '127.0.0.1', gen_random_uuid()::text, 'x', 'pay_old_' || n, now() - n * interval '13 months' / $1::int4, '{}' FROM generate_series(1, $1::int4) AS n`,
      [load.perMonth * MONTHS],
    );
    await owner.query('VACUUM ANALYZE');
    const options = { poolSize: 1, applicationName: 'bench', lockTimeoutMs: 5_000 };
    return new Calls(load, database, owner, new PrismaService({ url: database.url, ...options }));
  }

  async close(): Promise<void> {
    await this.prisma.$disconnect();
    await this.owner.end();
    await this.database.drop();
  }

  async costs(): Promise<Costs> {
    const lease = { paymentId: 'pay_1', leaseId: 'l' };
    const call = await this.each(async () => {
      const opening = { from: PAYMENT_STATE, during: PAYMENT_STATE, refund: null, putBackUs: null } as const;
      const opened = await this.payments.openCall(lease, 'read_status', opening);
      if (opened === null) throw new Error('the call was not opened');
      await this.payments.closeCall(
        lease,
        opened,
        { kind: 'unsent', detail: 'x' },
        { from: PAYMENT_STATE, change: {} },
      );
    });
    const facts = await this.each(async () => {
      await this.payments.readFacts('pay_1');
    });
    const kept = await this.each(() =>
      this.inbound.keep(this.prisma, {
        ...{ accountId: 'pac_1', address: '127.0.0.1', body: '', operation: 'PerformTransaction', providerRef: 'x' },
        ...{ paymentId: 'pay_1', amountTiyin: 1, answer: {} },
      }),
    );
    // So that a round finds as many of its payment as the one before.
    await this.owner.query(`DELETE FROM payment_calls WHERE payment_id = 'pay_1'`);
    await this.owner.query(`DELETE FROM provider_callbacks WHERE payment_id = 'pay_1'`);
    await this.owner.query('VACUUM payments, payment_calls, provider_callbacks');
    return { call, facts, kept };
  }

  private async each(work: () => Promise<void>): Promise<number> {
    const { calls } = this.load;
    const seconds = await sessionSeconds(this.prisma, async () => {
      for (let count = 0; count < calls; count += 1) await work();
    });
    return seconds / calls;
  }
}

/** As a database that was converted more than a year ago. */
async function makeMonths(owner: pg.Client): Promise<void> {
  for (const table of CALL_TABLES) {
    const { rows } = await owner.query<{ name: string }>('SELECT name FROM partitions_of($1)', [table]);
    for (const { name } of rows) await owner.query(`DROP TABLE parts.${name}`);
    const bound = (month: number): string => `'${monthAt(month).toISOString()}'`;
    for (let month = -MONTHS; month < 4; month += 1)
      await owner.query('SELECT create_partition($1, $2, $3)', [
        table,
        `${table}_month_${String(month + MONTHS)}`,
        `FROM (${month === -MONTHS ? 'MINVALUE' : bound(month)}) TO (${month === 3 ? 'MAXVALUE' : bound(month + 1)})`,
      ]);
  }
}

/** As it was before it was converted. */
async function makeOneTable(owner: pg.Client): Promise<void> {
  for (const table of CALL_TABLES)
    await owner.query(`
      CREATE TABLE one (LIKE ${table} INCLUDING ALL);
      ALTER SEQUENCE ${table}_id_seq OWNED BY NONE;
      DROP TABLE ${table};
      ALTER TABLE one RENAME TO ${table};
      ALTER TABLE ${table} DROP CONSTRAINT one_pkey, ADD PRIMARY KEY (id);
      GRANT SELECT, INSERT, UPDATE ON ${table} TO fiscal_app`);
  await owner.query(`
    CREATE UNIQUE INDEX ON payment_calls (payment_id) WHERE finished_at IS NULL;
    DROP INDEX one_payment_id_idx, one_reference_idx;
    CREATE UNIQUE INDEX ON provider_callbacks (reference)`);
}
