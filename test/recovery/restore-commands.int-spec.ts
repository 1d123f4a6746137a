// Promise: a person holds all lanes with one command, decides many receipts and registers with another, and all of it is on record.
import 'reflect-metadata';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { buildVerificationLink, tashkentCompact } from '#fiscal-domain';
import { createLogger, NestLogger, newId } from '#runtime';
import { AdvisoryLaneLocks } from '../../apps/device-relay/src/lanes/advisory-lane-locks.js';
import { holdAfterRestore } from '../../apps/device-relay/src/copies/hold-after-restore.js';
import { BASELINE, LaneRows } from '../../apps/device-relay/src/lanes/testing/lane-rows.js';
import { VerifyAuditTrail } from '../../apps/gateway/src/audit/verify-audit-trail.js';
import { Cli } from '../../apps/gateway/src/programs/cli/cli.js';
import { CliModule } from '../../apps/gateway/src/programs/cli/cli.module.js';
import { testGatewaySettings } from '../../apps/gateway/src/testing/gateway-settings.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const logger = createLogger('test', 'silent');
const REASON = ['--reason', 'put back the copy of 3 a.m.'];

let rows: LaneRows;
let app: INestApplicationContext;
let folder: string;
let evidence: string[];
let locks: AdvisoryLaneLocks | null = null;

const run = (...args: string[]): Promise<Record<string, unknown>> =>
  app.get(Cli).run(args) as Promise<Record<string, unknown>>;

beforeAll(async () => {
  rows = await LaneRows.start();
  folder = mkdtempSync(join(tmpdir(), 'fiscal-restore-'));
  writeFileSync(join(folder, 'ofd.csv'), 'terminal;seq\n');
  evidence = ['--evidence', join(folder, 'ofd.csv')];
  app = await NestFactory.createApplicationContext(CliModule.create(testGatewaySettings(rows.database), logger), {
    logger: new NestLogger(logger),
  });
});
afterAll(async () => {
  await app?.close();
  await rows?.stop();
  rmSync(folder, { recursive: true });
});
afterEach(async () => {
  await locks?.onApplicationShutdown();
  locks = null;
});
beforeEach(async () => {
  await rows.clear();
  await rows.sql.query('DELETE FROM restore_checks; DELETE FROM database_identity');
});

/** Of a relay that uses this role. */
async function lockSession(databaseUrl: string): Promise<AdvisoryLaneLocks> {
  const session = new AdvisoryLaneLocks(
    { databaseUrl, relayId: 'rly_ours', beforeUse: (client) => holdAfterRestore(client, logger) },
    logger,
  );
  locks = session;
  session.onApplicationBootstrap();
  await until('the session is there', () => session.isConnected, Boolean);
  return session;
}

/** A register without keys, which has sold. */
async function keyless(id: string, profile = {}): Promise<void> {
  if (id !== 'dev_1') await rows.createDevice(id);
  await rows.sql.query('UPDATE devices SET terminal_id = $2, profile = $3 WHERE id = $1', [
    ...[id, `UZ0000000000000${id.slice(-1)}`],
    JSON.stringify({ sharing: 'exclusive', ...profile }),
  ]);
}

/** As a relay does it that meets this database for the first time. */
async function putBack(): Promise<void> {
  await rows.sql.query(`INSERT INTO database_identity (identity) VALUES ('the one before')`);
  await holdAfterRestore(rows.sql, logger);
}

const attemptOf = async (receiptId: string): Promise<string> =>
  (await rows.one<{ id: string }>('SELECT id FROM attempts WHERE receipt_id = $1', receiptId)).id;
const statusOf = async (id: string): Promise<unknown> => (await rows.receipt(id))['status'];
const stateOf = async (id: string): Promise<unknown> =>
  (await rows.one<{ state: string }>('SELECT state::text FROM devices WHERE id = $1', id)).state;
const actions = async (): Promise<string[]> =>
  (await rows.sql.query<{ action: string }>('SELECT action FROM audit_records ORDER BY sequence')).rows.map(
    ({ action }) => action,
  );

test('begin: no lane is taken from then on, relays compare the identity of the database anew; end: they go on', async () => {
  await keyless('dev_1');
  const id = await rows.createReceipt();
  const session = await lockSession(rows.database.url);
  const number = (await rows.ours.lockNumberOf('dev_1'))!;
  const before = (await session.tryTake(number))!;
  expect(before).not.toBeNull();

  expect(await run('restore', 'begin', ...REASON)).toMatchObject({ relays: 1, lanes_held_since: expect.any(String) });
  // What it had in hand ends before its next byte; its next session has held what the copy does not know.
  await until(
    'the lane is lost',
    () => before.isHeld(),
    (isHeld) => !isHeld,
  );
  const status = await until(
    'a relay has compared',
    () => run('restore', 'status'),
    (each) => each['is_compared'] === true,
  );
  expect(status).toMatchObject({ devices_stopped: 1, receipts_held: 1, receipts_for_a_person: 1 });
  expect([await stateOf('dev_1'), await statusOf(id)]).toEqual(['replaced', 'unknown']);
  await before.release();
  await until('the next session is there', () => session.isConnected, Boolean);
  expect(await session.tryTake(number)).toBeNull();
  await rows.sql.query(`UPDATE devices SET state = 'online'; UPDATE receipts SET status = 'accepted'`);
  const overdue = { overdueMs: -60_000, after: '', lanes: 10 };
  expect((await rows.ours.overdueLanes(overdue)).due).toEqual([]);

  expect(await run('restore', 'end', ...REASON)).toMatchObject({ released: true, lanes_held_since: null });
  expect((await rows.ours.overdueLanes(overdue)).due).toEqual(['dev_1']);
  const after = await session.tryTake(number);
  expect(after).not.toBeNull();
  await after?.release();
  expect(await run('restore', 'end', ...REASON)).toMatchObject({ released: false });
  expect((await actions()).slice(-2)).toEqual(['lanes.hold', 'lanes.release']);
});

test('begin: a lane that is in hand writes no intent, also where the session of its relay cannot be ended', async () => {
  await rows.sql.query(`UPDATE devices SET journal_id = 'j', terminal_id = 'UZ1' WHERE id = 'dev_1'`);
  const id = await rows.createReceipt();
  await rows.holdLane();
  // A role that the command may not end, as where relays have one of their own.
  const session = await lockSession(rows.database.adminUrl);
  expect(await run('restore', 'begin', ...REASON)).toMatchObject({ relays: 'restart_them', is_compared: false });
  expect(await rows.ours.openAttempt(rows.intent(id))).toBe('lane_not_held');
  await run('restore', 'end', ...REASON);
  // That session was there before: nothing has been held yet.
  const number = (await rows.ours.lockNumberOf('dev_1'))!;
  expect([session.isConnected, await session.tryTake(number)]).toEqual([true, null]);
  expect(await rows.ours.openAttempt(rows.intent(id))).toBe('lane_not_held');
  await holdAfterRestore(rows.sql, logger);
  expect(await rows.ours.openAttempt(rows.intent(id))).toBe('opened');
  await rows.session.end();
});

test('resolve: many decisions of a file, with what was compared beside each; those that are refused are named', async () => {
  await keyless('dev_1', { failoverAfterMs: 1_000 });
  await keyless('dev_2');
  const [here, there, nowhere, wrong] = [
    await rows.createReceipt(),
    await rows.createReceipt(),
    await rows.createReceipt(),
    await rows.createReceipt(),
  ];
  await putBack();
  const list = join(folder, 'held.jsonl');
  expect(await run('restore', 'list', '--file', list)).toMatchObject({ receipts: 4 });
  const held = readFileSync(list, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown> & { receipt_id: string });
  expect(held[0]).toMatchObject({
    decision: null,
    device_id: 'dev_1',
    registers: [{ device_id: 'dev_1' }, { device_id: 'dev_2' }],
  });
  const claim = (receiptSeq: number, terminalId: string): Record<string, unknown> => {
    const link = buildVerificationLink('https://ofd.soliq.uz/check', {
      ...{ terminalId, receiptSeq, fiscalSign: '012345678901', compactTime: tashkentCompact(Date.now() - 60_000) },
    });
    return { decision: 'registered', receipt_seq: receiptSeq, fiscal_sign: '012345678901', verification_url: link };
  };
  const decisions: Record<string, Record<string, unknown>> = {
    [here]: claim(7, 'UZ00000000000001'),
    [there]: claim(9, 'UZ00000000000002'),
    [nowhere]: { decision: 'not_registered' },
    [wrong]: claim(3, 'UZ00000000000009'),
  };
  writeFileSync(list, held.map((each) => JSON.stringify({ ...each, ...decisions[each.receipt_id] })).join('\n'));
  const answer = await run('restore', 'resolve', '--file', list, ...REASON, ...evidence);
  expect(answer).toMatchObject({ done: 3, refused: [{ id: await attemptOf(wrong), code: expect.any(String) }] });
  expect(await rows.receipt(here)).toMatchObject({ status: 'registered', device_id: 'dev_1', receipt_seq: '7' });
  expect(await rows.receipt(there)).toMatchObject({ status: 'registered', device_id: 'dev_2', receipt_seq: '9' });
  expect([await statusOf(nowhere), await statusOf(wrong)]).toEqual(['accepted', 'unknown']);
  const { outcome } = (await rows.attempt(await attemptOf(there))) as { outcome: { resolution: unknown } };
  expect(outcome.resolution).toMatchObject({ actor: 'cli', evidence: { file: 'ofd.csv', sha256: expect.any(String) } });

  const csv = join(folder, 'decisions.csv');
  writeFileSync(csv, `attempt_id;decision\n${await attemptOf(wrong)};not_registered\n${newId('att')};not_registered\n`);
  const second = await run('restore', 'resolve', '--file', csv, ...REASON, ...evidence);
  expect(second).toMatchObject({ done: 1, refused: [{ line: 3, code: 'not_found' }] });
  expect(await statusOf(wrong)).toBe('accepted');
  expect(await app.get(VerifyAuditTrail).verifyAuditTrail('mer_1')).toMatchObject({ kind: 'intact' });
});

test('list: what was decided already hides nothing that stands behind it', async () => {
  await keyless('dev_1');
  const id = await rows.createReceipt();
  await putBack();
  await rows.sql.query(
    `WITH decided AS (
       INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
       SELECT 'att_' || lpad(n::text, 26, '0'), $1, 'dev_1', n + 1, 'not_registered', '{}', '', 'restore', now(), '{}'
         FROM generate_series(1, 500) n RETURNING id)
     INSERT INTO restore_checks (device_id, receipt_id, attempt_id, restored_at, method, verdict)
     SELECT 'dev_1', $1, id, now(), 'counters', 'absent' FROM decided`,
    [id],
  );
  const list = join(folder, 'behind.jsonl');
  expect(await run('restore', 'list', '--file', list)).toMatchObject({ receipts: 1 });
});

test('adopt: all registers that stand still since the restore, or those that are named', async () => {
  for (const id of ['dev_1', 'dev_2', 'dev_3']) await keyless(id);
  await putBack();
  expect(await run('restore', 'adopt', '--devices', 'dev_2,dev_9', ...REASON, ...evidence)).toMatchObject({
    ...{ done: 1, refused: [{ id: 'dev_9', code: 'not_found' }] },
  });
  expect([await stateOf('dev_1'), await stateOf('dev_2')]).toEqual(['replaced', 'online']);
  expect(await run('restore', 'adopt', ...REASON, ...evidence)).toEqual({ done: 2, refused: [] });
  expect([await stateOf('dev_1'), await stateOf('dev_3')]).toEqual(['online', 'online']);
});

test('adopt holds back what is older than the restore, on a register with keys too: its keys go with the module', async () => {
  await rows.sql.query(`UPDATE devices SET journal_id = 'j', terminal_id = 'UZ1' WHERE id = 'dev_1'`);
  const id = await rows.createReceipt();
  await putBack();
  expect(await statusOf(id)).toBe('accepted');
  await rows.sql.query(`UPDATE devices SET state = 'replaced' WHERE id = 'dev_1'`);
  await run('restore', 'adopt', '--devices', 'dev_1', ...REASON, ...evidence);
  expect([await stateOf('dev_1'), await statusOf(id)]).toEqual(['online', 'unknown']);
});

test('nothing-lost: everything goes back to where it was, but for what was on its way to a register without keys', async () => {
  await keyless('dev_1');
  await keyless('dev_2');
  const waiting = await rows.createReceipt({ deviceId: 'dev_2' });
  await rows.holdLane();
  const { receiptId: sending } = await rows.createOpenAttempt();
  await rows.session.end();
  await putBack();
  expect(await run('restore', 'nothing-lost', ...REASON, ...evidence)).toEqual({
    data: [{ merchant_id: 'mer_1', devices: 2, receipts: 1, left_for_a_person: 1 }],
  });
  expect([await statusOf(waiting), await statusOf(sending)]).toEqual(['accepted', 'unknown']);
  expect([await stateOf('dev_1'), await stateOf('dev_2')]).toEqual(['online', 'online']);
  expect((await rows.ours.read('dev_2', 1))?.waiting).toMatchObject([{ id: waiting, isFromCopy: false }]);
});

test('nothing-lost: what was accepted while a relay held is not held afterwards', async () => {
  await keyless('dev_1');
  await rows.createReceipt();
  // A gateway has begun to accept it, and commits once everything was held and given back.
  const gateway = new pg.Client({ connectionString: rows.database.url });
  await gateway.connect();
  try {
    await gateway.query('BEGIN');
    const late = await rows.createReceipt({ over: gateway });
    await putBack();
    await run('restore', 'nothing-lost', ...REASON, ...evidence);
    await gateway.query('COMMIT');
    const lane = await rows.ours.read('dev_1', 2);
    expect(lane?.waiting[1]).toMatchObject({ id: late, isFromCopy: false, mayBeRegistered: false });
    // A lane that has read it before the command wants to hold it.
    expect(await rows.ours.holdFromCopy(late)).toBe(false);
    expect(await statusOf(late)).toBe('accepted');
  } finally {
    await gateway.end();
  }
});

test('nothing-lost: what was never sent stays in its lane when that meets its register for the first time', async () => {
  const waiting = await rows.createReceipt();
  await putBack();
  expect(await statusOf(waiting)).toBe('unknown');
  await run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect(await rows.ours.saveIdentity('dev_1', { ...BASELINE, journalId: 'journal' }, ['journal'])).toBe('saved');
  expect((await rows.ours.read('dev_1', 1))?.waiting).toMatchObject([{ id: waiting, mayBeRegistered: false }]);
});

test('nothing-lost: what was on its way to a module that was exchanged since is not sent to the new one', async () => {
  const baseline = { ...BASELINE, journalId: 'journal' };
  await rows.sql.query(
    `UPDATE devices SET journal_id = 'journal', profile = '{"failoverAfterMs": 1000}' WHERE id = 'dev_1'`,
  );
  await keyless('dev_2');
  const [sending, waiting] = [await rows.createReceipt(), await rows.createReceipt()];
  await rows.holdLane();
  expect(await rows.ours.openAttempt({ ...rows.intent(sending), baseline })).toBe('opened');
  await rows.session.end();
  await putBack();
  expect([await statusOf(sending), await statusOf(waiting)]).toEqual(['unknown', 'unknown']);
  await rows.sql.query(`UPDATE devices SET state = 'replaced' WHERE id = 'dev_1'`);
  await run('restore', 'adopt', '--devices', 'dev_1', ...REASON, ...evidence);
  const exchanged = { ...baseline, terminalId: 'UZ2', journalId: 'another' };
  expect(await rows.ours.saveIdentity('dev_1', exchanged, ['journal'])).toBe('saved');
  expect(await run('restore', 'nothing-lost', ...REASON, ...evidence)).toMatchObject({
    data: [{ receipts: 1, left_for_a_person: 1 }],
  });
  expect([await statusOf(sending), await statusOf(waiting)]).toEqual(['unknown', 'accepted']);
});

test('nothing-lost: what was sent before, to a module that was exchanged since, is not sent to the new one', async () => {
  const baseline = { ...BASELINE, journalId: 'journal' };
  await rows.sql.query(
    `UPDATE devices SET journal_id = 'journal', profile = '{"failoverAfterMs": 1000}' WHERE id = 'dev_1'`,
  );
  await keyless('dev_2');
  const id = await rows.createReceipt();
  await rows.holdLane();
  expect(await rows.ours.openAttempt({ ...rows.intent(id), baseline })).toBe('opened');
  await rows.session.end();
  await rows.sql.query(
    `UPDATE attempts SET state = 'not_registered', closed_at = now(), outcome = '{"resolution": {"decision": "not_registered"}}'
      WHERE receipt_id = $1`,
    [id],
  );
  await rows.sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [id]);
  await putBack();
  expect(await statusOf(id)).toBe('unknown');
  await rows.sql.query(`UPDATE devices SET state = 'replaced' WHERE id = 'dev_1'`);
  await run('restore', 'adopt', '--devices', 'dev_1', ...REASON, ...evidence);
  await run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect(await statusOf(id)).toBe('unknown');
});

test('nothing-lost speaks of the newest change alone: a copy that was put back before stays one', async () => {
  await keyless('dev_1');
  const [held, unpaid] = [await rows.createReceipt(), await rows.createReceipt({ status: 'awaiting_payment' })];
  await putBack();
  const [first] = (await rows.sql.query('SELECT changed_at FROM database_identity')).rows;
  await keyless('dev_2');
  const heldNow = await rows.createReceipt({ deviceId: 'dev_2' });
  await rows.sql.query(`UPDATE database_identity SET identity = 'another one'`);
  await holdAfterRestore(rows.sql, logger);
  for (let times = 0; times < 2; times += 1) await run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect([await statusOf(held), await statusOf(heldNow)]).toEqual(['unknown', 'accepted']);
  expect((await rows.sql.query('SELECT changed_at FROM database_identity')).rows).toEqual([first]);
  await rows.sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [unpaid]);
  expect((await rows.ours.read('dev_1', 1))?.waiting).toMatchObject([{ id: unpaid, isFromCopy: true }]);
});

test('begin: what was there counts as a copy’s from then on, also where all lanes go again before a relay has compared', async () => {
  await keyless('dev_1');
  await run('restore', 'begin', ...REASON);
  await run('restore', 'end', ...REASON);
  expect(await run('restore', 'status')).toMatchObject({ restored_at: expect.any(String), is_compared: false });
});

test('nothing-lost: no answer before a relay has compared what a restore was announced for', async () => {
  await keyless('dev_1');
  await rows.createReceipt();
  await run('restore', 'begin', ...REASON);
  await expect(run('restore', 'nothing-lost', ...REASON, ...evidence)).rejects.toThrow('No relay has compared');
});

test('nothing-lost and adopt leave a register disabled that a person has disabled', async () => {
  for (const id of ['dev_1', 'dev_2']) await keyless(id);
  await rows.sql.query(
    `UPDATE devices SET state = 'disabled', state_reason = 'disabled by a person' WHERE id = 'dev_1'`,
  );
  const id = await rows.createReceipt();
  await putBack();
  expect([await stateOf('dev_1'), await stateOf('dev_2'), await statusOf(id)]).toEqual([
    'disabled',
    'replaced',
    'unknown',
  ]);
  expect(await run('restore', 'adopt', ...REASON, ...evidence)).toEqual({ done: 1, refused: [] });
  await run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect([await stateOf('dev_1'), await stateOf('dev_2'), await statusOf(id)]).toEqual([
    'disabled',
    'online',
    'accepted',
  ]);
});

test('nothing-lost: what was on its way to a register without keys is sent again once its lane has settled', async () => {
  await keyless('dev_1');
  await rows.holdLane();
  const { receiptId: sending } = await rows.createOpenAttempt();
  await rows.session.end();
  await putBack();
  await run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect(await stateOf('dev_1')).toBe('online');
  const csv = join(folder, 'too-early.csv');
  writeFileSync(csv, `attempt_id;decision\n${await attemptOf(sending)};not_registered\n`);
  expect(await run('restore', 'resolve', '--file', csv, ...REASON, ...evidence)).toMatchObject({
    ...{ done: 0, refused: [{ code: 'lane_unsettled' }] },
  });
  expect(await rows.lane('dev_1')).toMatchObject({ must_settle: true });
});

test.each([
  [['restore']],
  [['restore', 'begin']],
  [['restore', 'begin', '--reason', 'no']],
  [['restore', 'adopt', ...REASON]],
  [['restore', 'resolve', ...REASON, '--evidence', '/nowhere', '--file', '/nowhere']],
  [['restore', 'status', '--file', 'x']],
])('refused: %j', async (args) => {
  await expect(run(...args)).rejects.toThrow(/reason|evidence|no file|Usage|unknown option/);
});
