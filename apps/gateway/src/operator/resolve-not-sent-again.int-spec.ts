// Promise: what a register that is gone was asked for can be ended by a person, once, on record, and not while it may still arrive there.
import 'reflect-metadata';
import { Prisma } from '#database';
import { newId } from '#runtime';
import { claimOf, OperatorFixture, type TestAttempt } from './testing/operator-fixture.js';

const REASON = 'stolen; the OFD does not have it';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
});

afterAll(() => fixture?.stop());

const registered = (attempt: TestAttempt, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  ...{ decision: 'registered', reason: REASON },
  ...claimOf(attempt),
  ...more,
});

const notRegistered = { decision: 'not_registered', reason: REASON };
const ended = { ...notRegistered, send_again: false };
/** Its register has answered all the time. */
async function parkedAgo(attemptId: string, seconds: number): Promise<void> {
  await fixture.prisma.$executeRaw`
    UPDATE attempts SET closed_at = now() - make_interval(secs => ${seconds}::int4) WHERE id = ${attemptId}`;
  await fixture.prisma.$executeRaw`
    UPDATE devices SET last_seen_at = now(), state_since = now() - interval '1 day'
     WHERE id = (SELECT device_id FROM attempts WHERE id = ${attemptId})`;
}

/** It was sent once more, and no answer came. */
async function parkedAgain({ attemptId, receiptId }: TestAttempt): Promise<string> {
  const id = newId('att');
  for (const status of ['sending', 'unknown'] as const)
    await fixture.prisma.receipt.update({ where: { id: receiptId }, data: { status } });
  await fixture.prisma.$executeRaw`
    INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at)
    SELECT ${id}, receipt_id, device_id, number + 1, 'unknown', baseline, request, relay_id, now()
      FROM attempts WHERE id = ${attemptId}`;
  return id;
}

test('it ends as rejected, in no lane any more, by the word of an operator', async () => {
  const attempt = await fixture.createAttempt();
  await parkedAgo(attempt.attemptId, 136);
  const rung = fixture.rung.length;
  const answer = await fixture.resolve(attempt.attemptId, ended);
  expect([answer.status, answer.body.receipt.status]).toEqual([200, 'rejected']);
  expect(answer.body.receipt.rejection).toMatchObject({ code: 'receipt_refused' });
  expect(await fixture.attempt(attempt.attemptId)).toMatchObject({ state: 'not_registered' });
  expect(await fixture.events(attempt.receiptId)).toMatchObject([
    { type: 'receipt.rejected', data: { evidence: 'operator', rejection: { code: 'receipt_refused' } } },
  ]);
  expect(await fixture.audited(attempt.attemptId)).toMatchObject([{ after: { ...ended, receipt_status: 'rejected' } }]);
  expect(fixture.rung.length).toBe(rung);
  expect((await fixture.resolve(attempt.attemptId, ended)).body.code).toBe('already_resolved');
});

test.each([
  ['a register that knows keys', { journalId: 'jrn-1' }],
  ['one without', {}],
])('not before the settle time of %s is over, unless a person answers for it', async (_what, baseline) => {
  const attempt = await fixture.createAttempt({ baseline });
  // Not the settle time alone: a relay that stood still may have sent a repetition up to fifteen seconds after it was parked.
  await parkedAgo(attempt.attemptId, 125);
  expect((await fixture.resolve(attempt.attemptId, ended)).body.code).toBe('lane_unsettled');
  const confirmed = await fixture.resolve(attempt.attemptId, { ...ended, confirm_unsettled: true });
  expect([confirmed.status, confirmed.body.receipt.status]).toEqual([200, 'rejected']);
});

test('also what a person had sent again, and waits for a register that is gone; not what has left since', async () => {
  const attempt = await fixture.createAttempt();
  expect((await fixture.resolve(attempt.attemptId, notRegistered)).body.receipt.status).toBe('accepted');
  expect((await fixture.resolve(attempt.attemptId, notRegistered)).body.code).toBe('already_resolved');
  await parkedAgo(attempt.attemptId, 136);
  const where = { id: attempt.receiptId };
  await fixture.prisma.receipt.update({ where, data: { status: 'sending' } });
  expect((await fixture.resolve(attempt.attemptId, ended)).body.code).toBe('already_resolved');
  await fixture.prisma.receipt.update({ where, data: { status: 'accepted' } });
  const answer = await fixture.resolve(attempt.attemptId, ended);
  expect([answer.status, answer.body.receipt.status]).toEqual([200, 'rejected']);
  expect((await fixture.audited(attempt.attemptId)).length).toBe(2);
});

test.each([
  ['has never answered', Prisma.sql`last_seen_at = NULL`],
  ['has been silent since', Prisma.sql`last_seen_at = now() - interval '59 min', state = 'unreachable'`],
  ['does not answer at this moment', Prisma.sql`poll_failures = 1`],
  ['has come back just now', Prisma.sql`state_since = now() - interval '1 min'`],
  ['is another one by now', Prisma.sql`state = 'replaced'`],
])('nor by the clock alone: a register that %s may be asleep with it', async (_what, change) => {
  const attempt = await fixture.createAttempt({ baseline: { journalId: 'jrn-1' } });
  await parkedAgo(attempt.attemptId, 3_600);
  await fixture.prisma.$executeRaw`UPDATE devices SET ${change} WHERE id = ${attempt.deviceId}`;
  expect((await fixture.resolve(attempt.attemptId, ended)).body.code).toBe('lane_unsettled');
  const confirmed = await fixture.resolve(attempt.attemptId, { ...ended, confirm_unsettled: true });
  expect([confirmed.status, confirmed.body.receipt.status]).toEqual([200, 'rejected']);
});

test('nor by way of an earlier attempt, while a later one may still arrive there', async () => {
  const earlier = await fixture.createAttempt();
  await fixture.resolve(earlier.attemptId, notRegistered);
  await parkedAgo(earlier.attemptId, 3_600);
  const later = await parkedAgain(earlier);
  expect((await fixture.resolve(later, notRegistered)).body.receipt.status).toBe('accepted');
  expect((await fixture.resolve(earlier.attemptId, ended)).body.code).toBe('lane_unsettled');
  await parkedAgo(later, 136);
  expect((await fixture.resolve(earlier.attemptId, ended)).body.receipt.status).toBe('rejected');
});

test('send_again belongs to no other decision', async () => {
  const attempt = await fixture.createAttempt();
  const answer = await fixture.resolve(attempt.attemptId, registered(attempt, { send_again: false }));
  expect(answer.body).toMatchObject({ code: 'unknown_field', errors: [{ pointer: '/send_again' }] });
});
