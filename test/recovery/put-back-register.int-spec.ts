// Promise: a register that was put back from a copy is known by our last document, which its copy does not have, whatever was sold on it since.
import { LocalApiClient } from '#local-api';
import type { Baseline } from '#fiscal-domain';
import {
  API_KEY,
  startTestRegister,
  type TestRegister,
} from '../../apps/cash-register/src/testing/register-fixture.js';
import { sale } from '../../apps/cash-register/src/testing/samples.js';
import { checkRegister, type RegisterCheck } from '../../apps/device-relay/src/devices/check-register.js';

let till: TestRegister;
let known: Baseline;

beforeAll(async () => {
  till = await startTestRegister();
  for (const key of ['first', 'second']) expect((await till.sell(sale(), key)).status).toBe(200);
  const check = await recognised({ terminalId: null, journalId: null, sequence: null, reading: null });
  if (check.kind !== 'same') throw new Error(`the register is ${check.kind}`);
  known = check.baseline;
});
afterAll(() => till?.close());

function recognised(baseline: Baseline): Promise<RegisterCheck> {
  return checkRegister(new LocalApiClient({ baseUrl: till.url, apiKey: API_KEY, timeoutMs: 60_000 }), baseline);
}

async function timeOf(seq: number): Promise<number> {
  const { body } = await till.call('GET', `/receipts/${String(seq)}`);
  return (body as { receipt: { transactionTime: number } }).receipt.transactionTime;
}

test('it has our last document: the same register, which goes on from there', async () => {
  const own = { receiptSeq: 2, transactionTimeMs: await timeOf(2) };
  const expected = { kind: 'same', baseline: { ...known, own } };
  expect(await recognised({ ...known, own })).toMatchObject(expected);
});

test('with its number stands another document: it was put back, and others have sold', async () => {
  const own = { receiptSeq: 1, transactionTimeMs: (await timeOf(1)) - 1 };
  const reason = 'document 1 is another one than ours was';
  expect(await recognised({ ...known, own })).toEqual({ kind: 'replaced', reason });
});

test('it has no document with that number', async () => {
  const own = { receiptSeq: 3, transactionTimeMs: await timeOf(2) };
  const reason = 'document 3 of ours is not there any more';
  expect(await recognised({ ...known, own })).toEqual({ kind: 'replaced', reason });
});
