// Promise: the log names registers that a sweep has cleared, and none where another gateway's sweep was first.
import { parseKeyring } from '#secrets';
import { TriedOutDevices } from './tried-out-devices.js';

type Collaborators = ConstructorParameters<typeof TriedOutDevices>;

const SETTINGS = {
  SECRETS_KEY: parseKeyring(Buffer.alloc(32, 1).toString('base64')),
  MAX_DEVICES_PER_MERCHANT: 1,
};

test.each([
  ['of two gateways that found the same rows the second', 0, []],
  ['the one that cleared them', 2, [{ cleared: 2 }]],
])('%s logs what it did', async (_who, cleared, logged) => {
  const prisma = {
    $queryRaw: () => Promise.resolve([{ id: 'dev_1' }, { id: 'dev_2' }]),
    $executeRaw: () => Promise.resolve(cleared),
    $transaction: (statements: Promise<number>[]) => Promise.all(statements),
  };
  const said: unknown[] = [];
  const logger = { info: (facts: unknown) => said.push(facts) };
  const [database, log] = [prisma, logger] as unknown as [Collaborators[0], Collaborators[2]];
  expect(await new TriedOutDevices(database, SETTINGS, log).sweep()).toBe(cleared);
  expect(said).toEqual(logged);
});
