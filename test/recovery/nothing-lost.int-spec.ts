// Promise: that a person says that nothing was lost gives back what a restore held, for good, and nothing that a register may have.
import 'reflect-metadata';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { createLogger } from '#runtime';
import { holdAfterRestore } from '../../apps/device-relay/src/copies/hold-after-restore.js';
import { BASELINE, type LaneRows } from '../../apps/device-relay/src/lanes/testing/lane-rows.js';
import { REASON, RestoreRig } from './restore-rig.js';

const logger = createLogger('test', 'silent');

let rig: RestoreRig;
let rows: LaneRows;
let evidence: string[];
let folder: string;

beforeAll(async () => {
  rig = await RestoreRig.start();
  ({ rows, folder, evidence } = rig);
});
afterAll(() => rig?.stop());
beforeEach(() => rig.clear());

test('nothing-lost: everything goes back to where it was, but for what was on its way to a register without keys', async () => {
  await rig.keyless('dev_1');
  await rig.keyless('dev_2');
  const waiting = await rows.createReceipt({ deviceId: 'dev_2' });
  await rows.holdLane();
  const { receiptId: sending } = await rows.createOpenAttempt();
  await rows.session.end();
  await rig.putBack();
  expect(await rig.run('restore', 'nothing-lost', ...REASON, ...evidence)).toEqual({
    data: [{ merchant_id: 'mer_1', devices: 2, receipts: 1, left_for_a_person: 1 }],
  });
  expect([await rig.statusOf(waiting), await rig.statusOf(sending)]).toEqual(['accepted', 'unknown']);
  expect([await rig.stateOf('dev_1'), await rig.stateOf('dev_2')]).toEqual(['online', 'online']);
  expect((await rows.ours.read('dev_2', 1))?.waiting).toMatchObject([{ id: waiting, isFromCopy: false }]);
});

test('nothing-lost: what was accepted while a relay held is not held afterwards', async () => {
  await rig.keyless('dev_1');
  await rows.createReceipt();
  // A gateway has begun to accept it, and commits once everything was held and given back.
  const gateway = new pg.Client({ connectionString: rows.database.url });
  await gateway.connect();
  try {
    await gateway.query('BEGIN');
    const late = await rows.createReceipt({ over: gateway });
    await rig.putBack();
    await rig.run('restore', 'nothing-lost', ...REASON, ...evidence);
    await gateway.query('COMMIT');
    const lane = await rows.ours.read('dev_1', 2);
    expect(lane?.waiting[1]).toMatchObject({ id: late, isFromCopy: false, mayBeRegistered: false });
    // A lane that has read it before the command wants to hold it.
    expect(await rows.ours.holdFromCopy(late)).toBe(false);
    expect(await rig.statusOf(late)).toBe('accepted');
  } finally {
    await gateway.end();
  }
});

test('nothing-lost: what was never sent stays in its lane when that meets its register for the first time', async () => {
  const waiting = await rows.createReceipt();
  await rig.putBack();
  expect(await rig.statusOf(waiting)).toBe('unknown');
  await rig.run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect(await rows.ours.saveIdentity('dev_1', { ...BASELINE, journalId: 'journal' }, ['journal'])).toBe('saved');
  expect((await rows.ours.read('dev_1', 1))?.waiting).toMatchObject([{ id: waiting, mayBeRegistered: false }]);
});

test('nothing-lost: what was on its way to a module that was exchanged since is not sent to the new one', async () => {
  const baseline = { ...BASELINE, journalId: 'journal' };
  await rows.sql.query(
    `UPDATE devices SET journal_id = 'journal', profile = '{"failoverAfterMs": 1000}' WHERE id = 'dev_1'`,
  );
  await rig.keyless('dev_2');
  const [sending, waiting] = [await rows.createReceipt(), await rows.createReceipt()];
  await rows.holdLane();
  expect(await rows.ours.openAttempt({ ...rows.intent(sending), baseline })).toBe('opened');
  await rows.session.end();
  await rig.putBack();
  expect([await rig.statusOf(sending), await rig.statusOf(waiting)]).toEqual(['unknown', 'unknown']);
  await rows.sql.query(`UPDATE devices SET state = 'replaced' WHERE id = 'dev_1'`);
  await rig.run('restore', 'adopt', '--devices', 'dev_1', ...REASON, ...evidence);
  const exchanged = { ...baseline, terminalId: 'UZ2', journalId: 'another' };
  expect(await rows.ours.saveIdentity('dev_1', exchanged, ['journal'])).toBe('saved');
  expect(await rig.run('restore', 'nothing-lost', ...REASON, ...evidence)).toMatchObject({
    data: [{ receipts: 1, left_for_a_person: 1 }],
  });
  expect([await rig.statusOf(sending), await rig.statusOf(waiting)]).toEqual(['unknown', 'accepted']);
});

test('nothing-lost: what was sent before, to a module that was exchanged since, is not sent to the new one', async () => {
  const baseline = { ...BASELINE, journalId: 'journal' };
  await rows.sql.query(
    `UPDATE devices SET journal_id = 'journal', profile = '{"failoverAfterMs": 1000}' WHERE id = 'dev_1'`,
  );
  await rig.keyless('dev_2');
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
  await rig.putBack();
  expect(await rig.statusOf(id)).toBe('unknown');
  await rows.sql.query(`UPDATE devices SET state = 'replaced' WHERE id = 'dev_1'`);
  await rig.run('restore', 'adopt', '--devices', 'dev_1', ...REASON, ...evidence);
  await rig.run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect(await rig.statusOf(id)).toBe('unknown');
});

test('nothing-lost speaks of the newest change alone: a copy that was put back before stays one', async () => {
  await rig.keyless('dev_1');
  const [held, unpaid] = [await rows.createReceipt(), await rows.createReceipt({ status: 'awaiting_payment' })];
  await rig.putBack();
  const [first] = (await rows.sql.query('SELECT changed_at FROM database_identity')).rows;
  await rig.keyless('dev_2');
  const heldNow = await rows.createReceipt({ deviceId: 'dev_2' });
  await rows.sql.query(`UPDATE database_identity SET identity = 'another one'`);
  await holdAfterRestore(rows.sql, logger);
  for (let times = 0; times < 2; times += 1) await rig.run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect([await rig.statusOf(held), await rig.statusOf(heldNow)]).toEqual(['unknown', 'accepted']);
  expect((await rows.sql.query('SELECT changed_at FROM database_identity')).rows).toEqual([first]);
  await rows.sql.query(`UPDATE receipts SET status = 'accepted' WHERE id = $1`, [unpaid]);
  expect((await rows.ours.read('dev_1', 1))?.waiting).toMatchObject([{ id: unpaid, isFromCopy: true }]);
});

test('nothing-lost: no answer before a relay has compared what a restore was announced for', async () => {
  await rig.keyless('dev_1');
  await rows.createReceipt();
  await rig.run('restore', 'begin', ...REASON);
  await expect(rig.run('restore', 'nothing-lost', ...REASON, ...evidence)).rejects.toThrow('No relay has compared');
});

test('nothing-lost and adopt leave a register disabled that a person has disabled', async () => {
  for (const id of ['dev_1', 'dev_2']) await rig.keyless(id);
  await rows.sql.query(
    `UPDATE devices SET state = 'disabled', state_reason = 'disabled by a person' WHERE id = 'dev_1'`,
  );
  const id = await rows.createReceipt();
  await rig.putBack();
  expect([await rig.stateOf('dev_1'), await rig.stateOf('dev_2'), await rig.statusOf(id)]).toEqual([
    'disabled',
    'replaced',
    'unknown',
  ]);
  expect(await rig.run('restore', 'adopt', ...REASON, ...evidence)).toEqual({ done: 1, refused: [] });
  await rig.run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect([await rig.stateOf('dev_1'), await rig.stateOf('dev_2'), await rig.statusOf(id)]).toEqual([
    'disabled',
    'online',
    'accepted',
  ]);
});

test('nothing-lost: what was on its way to a register without keys is sent again once its lane has settled', async () => {
  await rig.keyless('dev_1');
  await rows.holdLane();
  const { receiptId: sending } = await rows.createOpenAttempt();
  await rows.session.end();
  await rig.putBack();
  await rig.run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect(await rig.stateOf('dev_1')).toBe('online');
  const csv = join(folder, 'too-early.csv');
  writeFileSync(csv, `attempt_id;decision\n${await rig.attemptOf(sending)};not_registered\n`);
  expect(await rig.run('restore', 'resolve', '--file', csv, ...REASON, ...evidence)).toMatchObject({
    ...{ done: 0, refused: [{ code: 'lane_unsettled' }] },
  });
  expect(await rows.lane('dev_1')).toMatchObject({ must_settle: true });
});

test('nothing-lost: killed once it has begun, it is given again and goes on where it was', async () => {
  await rig.keyless('dev_1');
  const waiting = await rows.createReceipt();
  await rig.putBack();
  const admin = new pg.Client({ connectionString: rows.database.adminUrl });
  await admin.connect();
  try {
    await admin.query(`CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the plug'; END $$;
                       CREATE TRIGGER die BEFORE UPDATE ON restore_checks EXECUTE FUNCTION die()`);
    await expect(rig.run('restore', 'nothing-lost', ...REASON, ...evidence)).rejects.toThrow('the plug');
    expect([await rig.statusOf(waiting), await rig.stateOf('dev_1')]).toEqual(['unknown', 'replaced']);
  } finally {
    await admin.query('DROP TRIGGER die ON restore_checks; DROP FUNCTION die()');
    await admin.end();
  }
  await rig.run('restore', 'nothing-lost', ...REASON, ...evidence);
  expect([await rig.statusOf(waiting), await rig.stateOf('dev_1')]).toEqual(['accepted', 'online']);
});
