// Promise: what one person reads about itself holds up no other person, and not the platform.
import 'reflect-metadata';
import pg from 'pg';
import { until } from '../../../../../libs/runtime/src/testing/until.js';
import { PeopleRig, type Browser } from '../people/testing/people-rig.js';

let rig: PeopleRig;
let person: Browser;
let administrator: Browser;
let holder: pg.Client;

beforeAll(async () => {
  rig = await PeopleRig.start(1, { API_POOL_SIZE: 8 });
  const [first, second] = [await rig.createMerchant(), await rig.createMerchant()];
  person = await rig.join('two-shops', ['owner'], first);
  await rig.prisma.membership.create({
    data: { id: 'mem_of_second_shop', userId: person.userId, merchantId: second, role: 'owner' },
  });
  administrator = await rig.join('administrator', ['platform_administrator'], null);
  holder = new pg.Client({ connectionString: rig.database.adminUrl });
  await holder.connect();
});
afterAll(async () => {
  await holder?.end();
  await rig?.stop();
});

test('a person of two merchants floods with reads that hang: the platform reads on', async () => {
  await until(
    'a name is needed',
    () => person.get('/v1/branches'),
    ({ code }) => code === 'merchant_needed',
  );
  await holder.query('BEGIN; LOCK TABLE passkeys IN ACCESS EXCLUSIVE MODE');
  const answers: number[] = [];
  const flood = Array.from({ length: 400 }, async () => answers.push((await person.get('/v1/me')).status));
  await until(
    'its turns are taken',
    () => answers.includes(429),
    (isFull) => isFull,
  );
  expect((await administrator.get('/v1/platform/merchants')).status).toBe(200);
  await holder.query('ROLLBACK');
  await Promise.all(flood);
});
