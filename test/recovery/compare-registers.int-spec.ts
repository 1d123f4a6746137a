// Promise: after a restore a receipt goes back into its lane only when every register that may have it has proven that it has not.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { apiKeyOwner, type Prisma } from '#database';
import { finalAfterMs, type Baseline } from '#fiscal-domain';
import { forgetRegister, holdBackUnproven, type RunStatement } from '#ledger';
import { OutgoingGuard, parseCidr } from '#outgoing';
import { createLogger } from '#runtime';
import { parseKeyring, seal } from '#secrets';
import {
  API_KEY,
  startTestRegister,
  type TestRegister,
} from '../../apps/cash-register/src/testing/register-fixture.js';
import { sale } from '../../apps/cash-register/src/testing/samples.js';
import { RegisterConnections } from '../../apps/device-relay/src/devices/register-connections.js';
import { holdAfterRestore } from '../../apps/device-relay/src/copies/hold-after-restore.js';
import { holdReceipts, readFleet } from '../../apps/device-relay/src/copies/hold-receipts.js';
import { LaneRows } from '../../apps/device-relay/src/lanes/testing/lane-rows.js';
import { NO_LINKS } from '../../apps/device-relay/src/lanes/testing/register-answers.js';
import { CompareRegisters } from '../../apps/device-relay/src/restore/compare-registers.js';
import { RestoreChecksRepository } from '../../apps/device-relay/src/restore/restore-checks.repository.js';
import { untilTrue } from '../../libs/runtime/src/testing/until.js';

const keyring = parseKeyring(randomBytes(32).toString('base64'));
const logger = createLogger('test', 'silent');
const SETTLE_MS = 120_000;
const NOWHERE = 'http://127.0.0.1:9';

let rows: LaneRows;
let session: pg.Client;
let connections: RegisterConnections;
let compare: CompareRegisters;
const registers: TestRegister[] = [];
let rung: string[];

beforeAll(async () => {
  rows = await LaneRows.start();
  session = new pg.Client({ connectionString: rows.database.url });
  await session.connect();
  for (const extensions of ['true', 'true', 'false'])
    registers.push(await startTestRegister({ environment: { REGISTER_EXTENSIONS: extensions } }));
});
afterAll(async () => {
  await session?.end();
  await rows?.stop();
  for (const register of registers) await register.close();
});
beforeEach(async () => {
  await rows.clear();
  await rows.sql.query('DELETE FROM restore_checks; DELETE FROM database_identity');
  await rows.sql.query(`INSERT INTO database_identity (identity) VALUES ('the one before')`);
  const loopback = parseCidr('127.0.0.0/8');
  const guard = OutgoingGuard.forDevices(loopback.kind === 'ok' ? [loopback.cidr] : []);
  connections = new RegisterConnections(keyring, guard, NO_LINKS);
  rung = [];
  compare = new CompareRegisters(
    new RestoreChecksRepository(rows.prisma),
    rows.ours,
    connections,
    { notify: () => undefined },
    (id) => void rung.push(id),
    logger,
  );
});
afterEach(() => connections.close());

interface Placed {
  register?: TestRegister;
  hasFailover?: boolean;
}

/** A device as the copy has it: its register was asked a moment before. */
async function place(id: string, { register, hasFailover = false }: Placed): Promise<void> {
  if (id !== 'dev_1') await rows.createDevice(id);
  const status = register ? (await register.call('GET', '/status')).body : null;
  const info = register ? (await register.call('GET', '/fm/info')).body : null;
  const journalId: string | null = status ? (status.journalId ?? null) : `journal of ${id}`;
  const sums = info && {
    ...{ saleCash: info.AccumulatedSaleCash, saleCard: info.AccumulatedSaleCard, saleVat: info.AccumulatedSaleVAT },
    ...{ refundCash: info.AccumulatedRefundCash, refundCard: info.AccumulatedRefundCard },
    refundVat: info.AccumulatedRefundVAT,
  };
  const baseline: Baseline = {
    terminalId: info ? info.terminalId : null,
    journalId,
    sequence: info ? info.currentReceiptSeq : null,
    reading:
      info && journalId === null ? { terminalId: info.terminalId, sequence: info.currentReceiptSeq, sums } : null,
  };
  await rows.sql.query(
    `UPDATE devices SET base_url = $2, api_key_sealed = $3, journal_id = $4, terminal_id = $5, profile = $6 WHERE id = $1`,
    [
      ...[id, register?.url ?? NOWHERE, seal(API_KEY, apiKeyOwner(id), keyring), journalId, baseline.terminalId],
      JSON.stringify({ settleMs: SETTLE_MS, callTimeoutMs: 10_000, ...(hasFailover && { failoverAfterMs: 1_000 }) }),
    ],
  );
  await rows.sql.query('UPDATE lanes SET baseline = $2 WHERE device_id = $1', [id, JSON.stringify(baseline)]);
}

/** One round of all that is due. */
async function round(): Promise<void> {
  await compare.beginDue();
  await compare.settle();
}

/** The settle time is over, and the register has been answering all the while. */
async function settled(): Promise<void> {
  await rows.sql.query(
    `UPDATE restore_checks SET answered_at = answered_at - make_interval(secs => $1), due_at = now() - interval '1 s'`,
    [finalAfterMs(SETTLE_MS) / 1_000],
  );
}

const statusOf = async (id: string): Promise<unknown> => (await rows.receipt(id))['status'];
const verdicts = async (): Promise<unknown[]> =>
  (await rows.sql.query('SELECT device_id, method, verdict FROM restore_checks ORDER BY device_id, id')).rows;

test('another register has it in its journal: registered there, and not sent here', async () => {
  await place('dev_1', { hasFailover: true });
  await place('dev_2', { register: registers[0]! });
  const id = await rows.createReceipt();
  const sold = await registers[0]!.sell(sale(), id);
  await holdAfterRestore(session, logger);
  expect(await statusOf(id)).toBe('unknown');
  await round();
  expect(await rows.receipt(id)).toMatchObject({
    ...{ status: 'registered', device_id: 'dev_2', evidence: 'journal', terminal_id: sold.body.receipt.terminalId },
    receipt_seq: String(sold.body.receipt.receiptSeq),
  });
  expect(await rows.events()).toEqual(['receipt.unknown', 'receipt.registered']);
});

test('none has it: back in its lane after the settle time, to be sent under its key, and not to be moved', async () => {
  await place('dev_1', { hasFailover: true });
  for (const [index, id] of ['dev_2', 'dev_3'].entries()) await place(id, { register: registers[index]! });
  const id = await rows.createReceipt();
  await holdAfterRestore(session, logger);
  await round();
  expect([await statusOf(id), rung]).toEqual(['unknown', []]);
  await settled();
  await round();
  expect([await statusOf(id), rung]).toEqual(['accepted', ['dev_1']]);
  const snapshot = await rows.ours.read('dev_1', 1);
  expect(snapshot?.waiting).toMatchObject([{ id, mayBeRegistered: true, isFromCopy: false }]);
});

test('a request that was asleep and arrives after the first reading is found by the last one', async () => {
  await place('dev_1', { hasFailover: true });
  await place('dev_2', { register: registers[0]! });
  const id = await rows.createReceipt();
  await holdAfterRestore(session, logger);
  await round();
  await registers[0]!.sell(sale(), id);
  await settled();
  await round();
  expect(await rows.receipt(id)).toMatchObject({ status: 'registered', device_id: 'dev_2' });
});

test('a register that falls silent begins its settle time anew; one that is away keeps the receipt held', async () => {
  await place('dev_1', { hasFailover: true });
  await place('dev_2', { register: registers[0]! });
  await place('dev_3', {});
  const id = await rows.createReceipt();
  await holdAfterRestore(session, logger);
  await round();
  await rows.sql.query(`UPDATE restore_checks SET due_at = now(), seen_at = now() - interval '31 s'`);
  await settled();
  await round();
  expect(await verdicts()).toEqual([
    { device_id: 'dev_2', method: 'key', verdict: null },
    { device_id: 'dev_3', method: 'key', verdict: null },
  ]);
  await settled();
  await round();
  expect([await verdicts(), await statusOf(id)]).toEqual([
    [
      { device_id: 'dev_2', method: 'key', verdict: 'absent' },
      { device_id: 'dev_3', method: 'key', verdict: null },
    ],
    'unknown',
  ]);
});

test('another journal than the copy knew proves nothing: a person decides', async () => {
  await place('dev_1', { hasFailover: true });
  await place('dev_2', { register: registers[0]! });
  await rows.sql.query(
    `UPDATE lanes SET baseline = jsonb_set(baseline, '{journalId}', '"another"') WHERE device_id = 'dev_2'`,
  );
  const id = await rows.createReceipt();
  await holdAfterRestore(session, logger);
  await round();
  expect(await verdicts()).toEqual([{ device_id: 'dev_2', method: 'key', verdict: 'unproven' }]);
  await settled();
  await round();
  expect(await statusOf(id)).toBe('unknown');
});

describe('a module that is exchanged, adopted and met before all have answered', () => {
  /** As the gateway writes it, and then the lane. */
  async function exchange(id: string, module: TestRegister): Promise<void> {
    await rows.prisma.$transaction(async (tx) => {
      await tx.$executeRaw`UPDATE devices SET state = 'online', terminal_id = NULL, journal_id = NULL WHERE id = ${id}`;
      await forgetRegister(tx, id, { mustSettle: false });
      await holdBackUnproven(tx, id, 'exchanged');
    });
    await rows.sql.query('UPDATE devices SET base_url = $2 WHERE id = $1', [id, module.url]);
    const [status, info] = [(await module.call('GET', '/status')).body, (await module.call('GET', '/fm/info')).body];
    const { terminalId, currentReceiptSeq: sequence } = info;
    const baseline: Baseline = { terminalId, journalId: status.journalId ?? null, sequence, reading: null };
    expect(await rows.ours.saveIdentity(id, baseline, [])).toBe('saved');
  }

  test('another register’s: that the new one does not have the receipt says nothing of the old one', async () => {
    await place('dev_1', { hasFailover: true });
    await place('dev_2', {});
    const id = await rows.createReceipt();
    await holdAfterRestore(session, logger);
    await round();
    await exchange('dev_2', registers[0]!);
    await rows.sql.query(`UPDATE restore_checks SET due_at = now() - interval '1 s'`);
    await round();
    await settled();
    await round();
    // Of the register as a whole, and of the receipt.
    const unproven = { device_id: 'dev_2', method: 'key', verdict: 'unproven' };
    expect([await verdicts(), await statusOf(id)]).toEqual([[unproven, unproven], 'unknown']);
  });

  const whose = [['another register’s', 'dev_2', { hasFailover: true }] as const, ['its own', 'dev_1', {}] as const];
  test.each(whose)('%s: what comes out of a payment afterwards is a person’s too', async (_whose, exchanged, of) => {
    await place('dev_1', of);
    await place('dev_2', {});
    const id = await rows.createReceipt({ status: 'awaiting_payment' });
    await holdAfterRestore(session, logger);
    await exchange(exchanged, registers[1]!);
    await rows.sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [id]);
    expect(await rows.ours.holdFromCopy(id)).toBe(true);
    await round();
    const unproven = { device_id: exchanged, method: 'key', verdict: 'unproven' };
    expect([await statusOf(id), await verdicts()]).toEqual(['unknown', expect.arrayContaining([unproven, unproven])]);
  });

  test('its own: the receipt is not sent to the new one, which does not know its key', async () => {
    await place('dev_1', { hasFailover: true });
    await place('dev_2', { register: registers[0]! });
    const id = await rows.createReceipt();
    await holdAfterRestore(session, logger);
    await exchange('dev_1', registers[1]!);
    await round();
    await settled();
    await round();
    expect([await verdicts(), await statusOf(id)]).toEqual([
      [
        { device_id: 'dev_1', method: 'key', verdict: 'unproven' },
        { device_id: 'dev_1', method: 'key', verdict: 'unproven' },
        { device_id: 'dev_2', method: 'key', verdict: 'absent' },
      ],
      'unknown',
    ]);
  });
});

describe('a register without keys', () => {
  test('whose counters stand where the copy left them goes on by itself, with what waits there', async () => {
    await place('dev_1', { register: registers[2]! });
    const id = await rows.createReceipt();
    await holdAfterRestore(session, logger);
    await round();
    expect([await stateOf('dev_1'), await statusOf(id)]).toEqual(['replaced', 'unknown']);
    await settled();
    await round();
    expect([await stateOf('dev_1'), await statusOf(id)]).toEqual(['online', 'accepted']);
    const snapshot = await rows.ours.read('dev_1', 1);
    expect(snapshot?.waiting).toMatchObject([{ id, isFromCopy: false }]);
    expect(await rows.events()).toEqual(['device.replaced', 'receipt.unknown', 'device.online', 'receipt.accepted']);
  });

  test('that a person has disabled stays disabled, though its counters stand where the copy left them', async () => {
    await place('dev_1', { register: registers[2]! });
    await rows.sql.query(`UPDATE devices SET state = 'disabled'`);
    const id = await rows.createReceipt();
    await holdAfterRestore(session, logger);
    await round();
    await settled();
    await round();
    expect([await stateOf('dev_1'), await statusOf(id)]).toEqual(['disabled', 'accepted']);
    expect(await rows.events()).toEqual(['receipt.unknown', 'receipt.accepted']);
  });

  test('that has sold since the copy stands still until a person has compared, and says by how much it moved', async () => {
    await place('dev_1', { register: registers[2]! });
    const id = await rows.createReceipt();
    await registers[2]!.sell(sale());
    await holdAfterRestore(session, logger);
    await round();
    await settled();
    await round();
    expect([await stateOf('dev_1'), await statusOf(id)]).toEqual(['replaced', 'unknown']);
    const { outcome } = await rows.one<{ outcome: { difference: string } }>('SELECT outcome FROM attempts');
    expect(outcome.difference).toContain('+1 documents');
  });

  test('that has registered what the copy knows as its last answer, and nothing more, has not moved', async () => {
    await place('dev_1', { register: registers[2]! });
    const sold = await registers[2]!.sell(sale());
    const growth = {
      sums: { saleCash: 2_000_000, saleCard: 0, saleVat: 214_286, refundCash: 0, refundCard: 0, refundVat: 0 },
      vatToleranceTiyin: 1,
    };
    const lastKnown = { receiptSeq: sold.body.receipt.receiptSeq, growth };
    await rows.sql.query('UPDATE lanes SET last_known = $1', [JSON.stringify(lastKnown)]);
    await holdAfterRestore(session, logger);
    await round();
    await settled();
    await round();
    expect(await stateOf('dev_1')).toBe('online');
  });

  test('that was being sent to when the copy was made: its own attempt is the one that is decided', async () => {
    await place('dev_1', { register: registers[2]! });
    await rows.holdLane();
    const { receiptId, attemptId } = await rows.createOpenAttempt();
    await rows.session.end();
    await holdAfterRestore(session, logger);
    expect(await rows.attempt(attemptId)).toMatchObject({ state: 'unknown' });
    await round();
    await settled();
    await round();
    expect([await statusOf(receiptId), (await rows.attempt(attemptId))['state']]).toEqual([
      'accepted',
      'not_registered',
    ]);
  });

  test('to which failover can have moved it keeps it held as long as its counters prove nothing', async () => {
    await place('dev_1', { register: registers[0]!, hasFailover: true });
    await place('dev_2', { register: registers[2]! });
    const id = await rows.createReceipt();
    await registers[2]!.sell(sale());
    await holdAfterRestore(session, logger);
    await round();
    await settled();
    await round();
    expect([await statusOf(id), await stateOf('dev_2')]).toEqual(['unknown', 'replaced']);
    expect(await verdicts()).toEqual([
      { device_id: 'dev_2', method: 'counters', verdict: 'unproven' },
      { device_id: 'dev_2', method: 'counters', verdict: 'unproven' },
    ]);
  });
});

describe('what is accepted after the lanes were held, out of a payment that the copy had as open', () => {
  test('is held when its lane comes to it, once', async () => {
    await place('dev_1', { hasFailover: true });
    await place('dev_2', { register: registers[0]! });
    const id = await rows.createReceipt({ status: 'awaiting_payment' });
    await holdAfterRestore(session, logger);
    await rows.sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [id]);
    expect((await rows.ours.read('dev_1', 1))?.waiting).toMatchObject([
      { id, isFromCopy: true, mayBeRegistered: true },
    ]);
    expect(await rows.ours.holdFromCopy(id)).toBe(true);
    await round();
    await settled();
    await round();
    expect((await rows.ours.read('dev_1', 1))?.waiting).toMatchObject([{ id, isFromCopy: false }]);
  });

  test('is not held where its own register answers for it, nor when it is newer than the restore', async () => {
    await place('dev_1', { register: registers[0]! });
    const old = await rows.createReceipt({ status: 'awaiting_payment' });
    await holdAfterRestore(session, logger);
    await rows.sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [old]);
    const fresh = await rows.createReceipt();
    await rows.sql.query(`UPDATE receipts SET created_at = created_at + interval '1 min' WHERE id = $1`, [fresh]);
    expect(await rows.ours.holdFromCopy(old)).toBe(false);
    expect((await rows.ours.read('dev_1', 2))?.waiting).toMatchObject([
      { id: old, isFromCopy: true },
      { id: fresh, isFromCopy: false, mayBeRegistered: false },
    ]);
  });
});

describe('the same, where a register without keys may have it', () => {
  async function copied(): Promise<string> {
    await place('dev_1', { register: registers[2]! });
    const id = await rows.createReceipt({ status: 'awaiting_payment' });
    await holdAfterRestore(session, logger);
    await round();
    await settled();
    return id;
  }
  const accept = (id: string): Promise<unknown> =>
    rows.sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [id]);

  test('is not held once its counters have proven that it registered nothing: no comparison would release it', async () => {
    const id = await copied();
    await round();
    await accept(id);
    expect([await stateOf('dev_1'), await rows.ours.holdFromCopy(id), await statusOf(id)]).toEqual([
      ...['online', false, 'accepted'],
    ]);
  });

  test('waits for the comparison that is being decided at this moment, and not for another one', async () => {
    const id = await copied();
    await accept(id);
    const run: RunStatement = async <Row>({ text, values }: Prisma.Sql): Promise<Row[]> =>
      (await session.query(text, [...values])).rows as Row[];
    await session.query('BEGIN; SELECT id FROM database_identity FOR SHARE');
    expect(await holdReceipts(run, await readFleet(run, id), [id])).toEqual([id]);
    const decided = round();
    await untilTrue(
      async () => (await rows.sql.query(`SELECT FROM pg_locks WHERE NOT granted`)).rowCount! > 0 || (await isOnline()),
      'the comparison waits, or is over',
    );
    await session.query('COMMIT');
    await decided;
    expect([await verdicts(), await statusOf(id)]).toEqual([
      [
        { device_id: 'dev_1', method: 'counters', verdict: 'absent' },
        { device_id: 'dev_1', method: 'counters', verdict: 'absent' },
      ],
      'accepted',
    ]);
  });

  const isOnline = async (): Promise<boolean> => (await stateOf('dev_1')) === 'online';
});

async function stateOf(id: string): Promise<unknown> {
  return (await rows.one<{ state: string }>('SELECT state::text FROM devices WHERE id = $1', id)).state;
}
