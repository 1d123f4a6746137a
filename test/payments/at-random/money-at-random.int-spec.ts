// Promise: whatever was paid, given back, lost on the way and put back from a copy: no customer is charged twice, and money and receipts agree in the end.
import 'reflect-metadata';
import type pg from 'pg';
import { superuserOf } from '#database/testing';
import { DatabaseCopies } from '../../recovery/at-random/database-copy.js';
import { paymentsFixture } from '../payments-fixture.js';
import { MoneyWalk } from './money-walk.js';

let admin: pg.Client;
// Before the fixture’s: its database is dropped.
afterAll(() => admin?.end());

const fixture = paymentsFixture({ PAYMENT_CALL_TIMEOUT_MS: 1_000, PAYMENT_SETTLE_MS: 1_500, PAYMENT_ANSWER_MS: 1_500 });

/** `MONEY_SEEDS=1-40` searches longer. What happens when is partly the machine’s: a seed that fails may pass, and what it found gets a test of its own. */
const [FIRST, LAST] = (process.env['MONEY_SEEDS'] ?? '1-1').split('-').map(Number) as [number, number];
const SEEDS = Array.from({ length: LAST - FIRST + 1 }, (_, index) => FIRST + index);

let atStake = 0;
let copies: DatabaseCopies;

/** A register with keys: what it has sold it knows, and its receipts wait for no person after a restore. */
beforeAll(async () => {
  admin = await superuserOf(fixture.gateway.database);
  copies = await DatabaseCopies.of(admin);
  await fixture.gateway.prisma.$executeRaw`UPDATE devices SET journal_id = 'journal' WHERE id = ${fixture.deviceId}`;
  await fixture.choose('uzum', { page: 'checkout', fiscal_mode: 'gateway', pay_type: 'TWO_STEP' });
});

test.each(SEEDS)('seed %i', async (seed) => {
  const walk = new MoneyWalk(seed, fixture, copies);
  await walk.walk();
  atStake += walk.judge.atStake;
  expect(walk.judge.broken.join('\n')).toBe('');
});

if (SEEDS.length > 3)
  test('together: copies were put back that knew less than providers', () => {
    expect(atStake).toBeGreaterThan(0);
  });
