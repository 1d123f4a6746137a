// Promise: a person holds all lanes with one command, decides many receipts and registers with another, and all of it is on record.
import 'reflect-metadata';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildVerificationLink, tashkentCompact } from '#fiscal-domain';
import { sampleDocument } from '#database/testing';
import { createLogger, newId } from '#runtime';
import { AdvisoryLaneLocks } from '../../apps/device-relay/src/lanes/advisory-lane-locks.js';
import { holdAfterRestore } from '../../apps/device-relay/src/copies/hold-after-restore.js';
import type { LaneRows } from '../../apps/device-relay/src/lanes/testing/lane-rows.js';
import { VerifyAuditTrail } from '../../apps/gateway/src/audit/verify-audit-trail.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { REASON, RestoreRig } from './restore-rig.js';

const logger = createLogger('test', 'silent');

let rig: RestoreRig;
let rows: LaneRows;
let evidence: string[];
let folder: string;
let locks: AdvisoryLaneLocks | null = null;

beforeAll(async () => {
  rig = await RestoreRig.start();
  ({ rows, folder, evidence } = rig);
});
afterAll(() => rig?.stop());
afterEach(async () => {
  await locks?.onApplicationShutdown();
  locks = null;
});
beforeEach(() => rig.clear());

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

const actions = async (): Promise<string[]> =>
  (await rows.sql.query<{ action: string }>('SELECT action FROM audit_records ORDER BY sequence')).rows.map(
    ({ action }) => action,
  );

test('begin: no lane is taken from then on, relays compare the identity of the database anew; end: they go on', async () => {
  await rig.keyless('dev_1');
  const id = await rows.createReceipt();
  const session = await lockSession(rows.database.url);
  const number = (await rows.ours.lockNumberOf('dev_1'))!;
  const before = (await session.tryTake(number))!;
  expect(before).not.toBeNull();

  expect(await rig.run('restore', 'begin', ...REASON)).toMatchObject({
    relays: 1,
    lanes_held_since: expect.any(String),
  });
  // What it had in hand ends before its next byte; its next session has held what the copy does not know.
  await until(
    'the lane is lost',
    () => before.isHeld(),
    (isHeld) => !isHeld,
  );
  const status = await until(
    'a relay has compared',
    () => rig.run('restore', 'status'),
    (each) => each['is_compared'] === true,
  );
  expect(status).toMatchObject({ devices_stopped: 1, receipts_held: 1, receipts_for_a_person: 1 });
  expect([await rig.stateOf('dev_1'), await rig.statusOf(id)]).toEqual(['replaced', 'unknown']);
  await before.release();
  await until('the next session is there', () => session.isConnected, Boolean);
  expect(await session.tryTake(number)).toBeNull();
  await rows.sql.query(`UPDATE devices SET state = 'online'; UPDATE receipts SET status = 'accepted'`);
  const overdue = { overdueMs: -60_000, after: '', lanes: 10 };
  expect((await rows.ours.overdueLanes(overdue)).due).toEqual([]);

  expect(await rig.run('restore', 'end', ...REASON)).toMatchObject({ released: true, lanes_held_since: null });
  expect((await rows.ours.overdueLanes(overdue)).due).toEqual(['dev_1']);
  const after = await session.tryTake(number);
  expect(after).not.toBeNull();
  await after?.release();
  expect(await rig.run('restore', 'end', ...REASON)).toMatchObject({ released: false });
  expect((await actions()).slice(-2)).toEqual(['lanes.hold', 'lanes.release']);
});

test('begin: a lane that is in hand writes no intent, also where the session of its relay cannot be ended', async () => {
  await rows.sql.query(`UPDATE devices SET journal_id = 'j', terminal_id = 'UZ1' WHERE id = 'dev_1'`);
  const id = await rows.createReceipt();
  await rows.holdLane();
  // A role that the command may not end, as where relays have one of their own.
  const session = await lockSession(rows.database.adminUrl);
  expect(await rig.run('restore', 'begin', ...REASON)).toMatchObject({ relays: 'restart_them', is_compared: false });
  expect(await rows.ours.openAttempt(rows.intent(id))).toBe('lane_not_held');
  await rig.run('restore', 'end', ...REASON);
  // That session was there before: nothing has been held yet.
  const number = (await rows.ours.lockNumberOf('dev_1'))!;
  expect([session.isConnected, await session.tryTake(number)]).toEqual([true, null]);
  expect(await rows.ours.openAttempt(rows.intent(id))).toBe('lane_not_held');
  await holdAfterRestore(rows.sql, logger);
  expect(await rows.ours.openAttempt(rows.intent(id))).toBe('opened');
  await rows.session.end();
});

test('resolve: many decisions of a file, with what was compared beside each; those that are refused are named', async () => {
  await rig.keyless('dev_1', { failoverAfterMs: 1_000 });
  await rig.keyless('dev_2');
  const [here, there, nowhere, wrong] = [
    await rows.createReceipt(),
    await rows.createReceipt(),
    await rows.createReceipt(),
    await rows.createReceipt(),
  ];
  await rig.putBack();
  const list = join(folder, 'held.jsonl');
  expect(await rig.run('restore', 'list', '--file', list)).toMatchObject({ receipts: 4 });
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
  const answer = await rig.run('restore', 'resolve', '--file', list, ...REASON, ...evidence);
  expect(answer).toMatchObject({ done: 3, refused: [{ id: await rig.attemptOf(wrong), code: expect.any(String) }] });
  expect(await rows.receipt(here)).toMatchObject({ status: 'registered', device_id: 'dev_1', receipt_seq: '7' });
  expect(await rows.receipt(there)).toMatchObject({ status: 'registered', device_id: 'dev_2', receipt_seq: '9' });
  expect([await rig.statusOf(nowhere), await rig.statusOf(wrong)]).toEqual(['accepted', 'unknown']);
  const { outcome } = (await rows.attempt(await rig.attemptOf(there))) as { outcome: { resolution: unknown } };
  expect(outcome.resolution).toMatchObject({ actor: 'cli', evidence: { file: 'ofd.csv', sha256: expect.any(String) } });

  const csv = join(folder, 'decisions.csv');
  writeFileSync(
    csv,
    `attempt_id;decision\n${await rig.attemptOf(wrong)};not_registered\n${newId('att')};not_registered\n`,
  );
  const second = await rig.run('restore', 'resolve', '--file', csv, ...REASON, ...evidence);
  expect(second).toMatchObject({ done: 1, refused: [{ line: 3, code: 'not_found' }] });
  expect(await rig.statusOf(wrong)).toBe('accepted');
  expect(await rig.app.get(VerifyAuditTrail).verifyAuditTrail('mer_1')).toMatchObject({ kind: 'intact' });
});

test('resolve: a module that stood there after the copy alone, and one that failover reached by settings of later', async () => {
  await rig.keyless('dev_1');
  await rig.keyless('dev_2');
  await rows.createMerchant('x', '987654321');
  await rows.createDevice('dev_x', 'x');
  await rows.sql.query(`UPDATE devices SET terminal_id = 'UZ0000000000000X' WHERE id = 'dev_x'`);
  const [gone, there, theirs] = [await rows.createReceipt(), await rows.createReceipt(), await rows.createReceipt()];
  await rig.putBack();
  const decide = async (receiptId: string, terminalId: string, confirmed: string): Promise<unknown> => {
    const url = buildVerificationLink('https://ofd.soliq.uz/check', {
      ...{ terminalId, receiptSeq: 7, fiscalSign: '012345678901', compactTime: tashkentCompact(Date.now() - 60_000) },
    });
    const csv = join(folder, 'modules.csv');
    const head = 'attempt_id;decision;receipt_seq;fiscal_sign;verification_url;confirm_terminal';
    writeFileSync(csv, `${head}\n${await rig.attemptOf(receiptId)};registered;7;012345678901;${url};${confirmed}\n`);
    return rig.run('restore', 'resolve', '--file', csv, ...REASON, ...evidence);
  };
  expect(await decide(gone, 'UZ00000000000009', '')).toMatchObject({
    ...{ done: 0, refused: [{ detail: expect.stringContaining('confirm_terminal') }] },
  });
  expect(await decide(gone, 'UZ00000000000009', 'true')).toEqual({ done: 1, refused: [] });
  expect(await rows.receipt(gone)).toMatchObject({ device_id: 'dev_1', terminal_id: 'UZ00000000000009' });
  expect(await decide(there, 'UZ00000000000002', '')).toEqual({ done: 1, refused: [] });
  expect(await rows.receipt(there)).toMatchObject({ status: 'registered', device_id: 'dev_2' });
  const outcome = { outcome: { resolution: { confirm_terminal: true } } };
  expect(await rows.attempt(await rig.attemptOf(gone))).toMatchObject(outcome);
  // Another merchant's by a device, by its claim alone; and what no terminal is called.
  await rows.sql.query(`INSERT INTO terminals (terminal_id, merchant_id) VALUES ('UZ0000000000000Y', 'mer_x')`);
  for (const terminal of ['UZ0000000000000X', 'UZ0000000000000Y', '%00'])
    expect(await decide(theirs, terminal, 'true')).toMatchObject({
      done: 0,
      refused: [{ code: 'contradicts_reading' }],
    });
  // Nor does a confirmation help there.
  expect(await decide(theirs, 'UZ0000000000000X', '')).toMatchObject({
    refused: [{ detail: expect.not.stringContaining('confirm_terminal') }],
  });
  // Of what is no copy's no terminal is taken that its register does not have.
  await rows.sql.query('UPDATE database_identity SET changed_at = NULL');
  expect(await decide(theirs, 'UZ00000000000008', 'true')).toMatchObject({ done: 0, refused: [{}] });
});

test('resolve: an advance, which has no link, names its terminal', async () => {
  await rig.keyless('dev_1');
  await rig.keyless('dev_2');
  const document = { ...sampleDocument(), type: 'advance' as const };
  const receipts = { gone: await rows.createReceipt({ document }), there: await rows.createReceipt({ document }) };
  await rig.putBack();
  const decide = async (receiptId: string, more: Record<string, unknown>): Promise<unknown> => {
    const list = join(folder, 'advances.jsonl');
    const attempt = { attempt_id: await rig.attemptOf(receiptId), decision: 'registered', receipt_seq: 7 };
    writeFileSync(list, JSON.stringify({ ...attempt, ...more }));
    return rig.run('restore', 'resolve', '--file', list, ...REASON, ...evidence);
  };
  const elsewhere = { terminal_id: 'UZ00000000000009' };
  expect(await decide(receipts.gone, elsewhere)).toMatchObject({
    refused: [{ detail: expect.stringMatching(/UZ00000000000009.*confirm_terminal/) }],
  });
  expect(await decide(receipts.gone, { terminal_id: 'UZ 9' })).toMatchObject({ done: 0, refused: [{}] });
  expect(await decide(receipts.gone, { ...elsewhere, confirm_terminal: true })).toEqual({ done: 1, refused: [] });
  expect(await rows.receipt(receipts.gone)).toMatchObject({ device_id: 'dev_1', terminal_id: 'UZ00000000000009' });
  expect(await decide(receipts.there, { terminal_id: 'UZ00000000000002' })).toEqual({ done: 1, refused: [] });
  expect(await rows.receipt(receipts.there)).toMatchObject({ device_id: 'dev_2', terminal_id: 'UZ00000000000002' });
});

test('list: what was decided already hides nothing that stands behind it', async () => {
  await rig.keyless('dev_1');
  const id = await rows.createReceipt();
  await rig.putBack();
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
  expect(await rig.run('restore', 'list', '--file', list)).toMatchObject({ receipts: 1 });
});

test('adopt: all registers that stand still since the restore, or those that are named', async () => {
  for (const id of ['dev_1', 'dev_2', 'dev_3']) await rig.keyless(id);
  await rig.putBack();
  expect(await rig.run('restore', 'adopt', '--devices', 'dev_2,dev_9', ...REASON, ...evidence)).toMatchObject({
    ...{ done: 1, refused: [{ id: 'dev_9', code: 'not_found' }] },
  });
  expect([await rig.stateOf('dev_1'), await rig.stateOf('dev_2')]).toEqual(['replaced', 'online']);
  expect(await rig.run('restore', 'adopt', ...REASON, ...evidence)).toEqual({ done: 2, refused: [] });
  expect([await rig.stateOf('dev_1'), await rig.stateOf('dev_3')]).toEqual(['online', 'online']);
});

test('adopt holds back what is older than the restore, on a register with keys too: its keys go with the module', async () => {
  await rows.sql.query(`UPDATE devices SET journal_id = 'j', terminal_id = 'UZ1' WHERE id = 'dev_1'`);
  const id = await rows.createReceipt();
  await rig.putBack();
  expect(await rig.statusOf(id)).toBe('accepted');
  await rows.sql.query(`UPDATE devices SET state = 'replaced' WHERE id = 'dev_1'`);
  await rig.run('restore', 'adopt', '--devices', 'dev_1', ...REASON, ...evidence);
  expect([await rig.stateOf('dev_1'), await rig.statusOf(id)]).toEqual(['online', 'unknown']);
});

test('begin: what was there counts as a copy’s from then on, also where all lanes go again before a relay has compared', async () => {
  await rig.keyless('dev_1');
  await rig.run('restore', 'begin', ...REASON);
  await rig.run('restore', 'end', ...REASON);
  expect(await rig.run('restore', 'status')).toMatchObject({ restored_at: expect.any(String), is_compared: false });
});

test.each([
  [['restore']],
  [['restore', 'begin']],
  [['restore', 'begin', '--reason', 'no']],
  [['restore', 'adopt', ...REASON]],
  [['restore', 'resolve', ...REASON, '--evidence', '/nowhere', '--file', '/nowhere']],
  [['restore', 'status', '--file', 'x']],
])('refused: %j', async (args) => {
  await expect(rig.run(...args)).rejects.toThrow(/reason|evidence|no file|Usage|unknown option/);
});
