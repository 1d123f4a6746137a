// What a provider's calls say of a customer (card tokens, masked numbers, phones) is nowhere in clear, opens with the secrets' key alone, and is gone when its time is over.
import { callbackOwner } from '#database';
import { open, parseKeyring } from '#secrets';
import { CallbackKeeper } from '../../apps/gateway/src/payments/inbound/callback-keeper.js';
import { RotateSecrets } from '../../apps/gateway/src/programs/secrets/rotate-secrets.js';
import type { GatewaySettings } from '../../apps/gateway/src/settings.js';
import { SETTINGS_TOKEN } from '../../apps/gateway/src/tokens.js';
import { sql } from '../system/database.js';
import { anId, askPayme, click, multicard } from './provider-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

interface Kept {
  reference: string | null;
  operation: string | null;
  provider_ref: string | null;
  payment_id: string | null;
  amount_tiyin: bigint | null;
  body: Uint8Array | null;
  body_sealed: Uint8Array | null;
}

const settings = (): GatewaySettings => fixture.gateway.app.get<GatewaySettings>(SETTINGS_TOKEN, { strict: false });
const keyring = () => settings().SECRETS_KEY;

function keptOf(paymentId: string): Promise<Kept[]> {
  return fixture.gateway.prisma.$queryRaw<Kept[]>`
    SELECT reference, operation, provider_ref, payment_id, amount_tiyin, body, body_sealed
      FROM provider_callbacks WHERE payment_id = ${paymentId} ORDER BY id`;
}

function opened({ reference, body_sealed: sealed }: Kept): string {
  if (reference === null || sealed === null) throw new Error('nothing is sealed');
  return open(sealed, callbackOwner(reference), keyring());
}

/** The whole table as anybody with a copy of the database reads it. */
async function inClear(): Promise<string> {
  const rows = await sql<{ row: string }>(
    fixture.gateway.database,
    `SELECT row_to_json(c)::text || coalesce(convert_from(body, 'UTF8'), '') AS row FROM provider_callbacks c
     UNION ALL SELECT row_to_json(c)::text FROM payment_calls c`,
  );
  return rows.map(({ row }) => row).join('\n');
}

const keeper = (): CallbackKeeper => fixture.gateway.app.get(CallbackKeeper, { strict: false });

it('keeps in columns what names the call, and seals the rest', async () => {
  const { body: paid } = await fixture.pay({ provider: 'multicard' });
  const [invoice] = await fixture.simulated(paid.id);
  await multicard(fixture, { uuid: invoice?.id ?? '', orderId: paid.id });
  const kept = await keptOf(paid.id);
  expect(kept[0]).toMatchObject({
    operation: 'success',
    provider_ref: invoice?.id,
    amount_tiyin: BigInt(PRICE),
    body: null,
  });
  expect(opened(kept[0]!)).toContain('"phone":"998901234567"');
  await fixture.atProvider(paid.id, { status: 'captured' });
});

it('the same of Payme’s calls, alone and written together, and of Click’s', async () => {
  const orders = await Promise.all([1, 2, 3].map(async () => (await fixture.pay({ provider: 'payme' })).body));
  const ids = orders.map(() => anId());
  await Promise.all(
    orders.map(({ id: order_id }, nth) =>
      askPayme(fixture, 'CreateTransaction', { id: ids[nth], time: Date.now(), amount: PRICE, account: { order_id } }),
    ),
  );
  await Promise.all(ids.map((id) => askPayme(fixture, 'PerformTransaction', { id })));
  for (const [nth, { id }] of orders.entries()) {
    const kept = await keptOf(id);
    expect(kept.map(({ operation, provider_ref: ref }) => [operation, ref])).toEqual([
      ['CreateTransaction', ids[nth]],
      ['PerformTransaction', ids[nth]],
    ]);
    expect(kept.map(opened)).toEqual(kept.map(({ provider_ref: ref }) => expect.stringContaining(ref ?? '')));
    expect(kept.every(({ body }) => body === null)).toBe(true);
  }
  await askPayme(fixture, 'CancelTransaction', { id: ids[0], reason: 5 });
  expect((await keptOf(orders[0]?.id ?? '')).at(-1)).toMatchObject({ operation: 'CancelTransaction', body: null });
  const { body: byClick } = await fixture.pay({ provider: 'click' });
  const trans = { click_trans_id: String(Date.now()) };
  const { merchant_prepare_id } = await click(fixture, byClick.id, trans);
  await click(fixture, byClick.id, { ...trans, action: '1', merchant_prepare_id: String(merchant_prepare_id) });
  const kept = await keptOf(byClick.id);
  expect(kept.map(({ operation }) => operation)).toEqual(['prepare', 'complete']);
  expect(kept.map(({ provider_ref: ref }) => ref)).toEqual([trans.click_trans_id, trans.click_trans_id]);
  expect(opened(kept[1]!)).toContain('sign_string=');
});

it('nothing of a customer stands in clear in what is kept of calls, in either direction', async () => {
  await fixture.pay({ provider: 'multicard', token: 'token-0001' });
  await fixture.pay({ provider: 'click', qr_code: 'otp-of-a-wallet' });
  const text = await inClear();
  for (const secret of ['998901234567', '860030******5959', 'token-0001', 'sign_string', 'card_pan'])
    expect([secret, text.includes(secret)]).toEqual([secret, false]);
  expect(text).toContain('CreateTransaction');
});

it('seals what an earlier version kept in clear, a batch after the other', async () => {
  const { prisma } = fixture.gateway;
  const account = fixture.accountIds['payme'] ?? '';
  const body = JSON.stringify({ method: 'PerformTransaction', params: { id: anId() }, phone: '998909999999' });
  await prisma.$executeRaw`
    INSERT INTO provider_callbacks (account_id, address, body, answer)
    SELECT ${account}, '127.0.0.1', convert_to(${body}, 'UTF8'), '{}' FROM generate_series(1, 450)`;
  while (await keeper().sealOld());
  const [left] = await prisma.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int4 AS count FROM provider_callbacks WHERE body IS NOT NULL`;
  expect(left?.count).toBe(0);
  const rows = await prisma.$queryRaw<Kept[]>`
    SELECT * FROM provider_callbacks WHERE account_id = ${account} AND operation IS NULL ORDER BY id`;
  expect(rows).toHaveLength(450);
  expect(new Set(rows.map(opened))).toEqual(new Set([body]));
  expect(await inClear()).not.toContain('998909999999');
});

it('clears what is older than the setting says, and keeps the columns', async () => {
  const { body: paid } = await fixture.pay({ provider: 'payme' });
  const order = { id: anId(), time: Date.now(), amount: PRICE, account: { order_id: paid.id } };
  await askPayme(fixture, 'CreateTransaction', order);
  const days = settings().PROVIDER_CALLBACK_KEEP_DAYS;
  expect(days).toBe(90);
  const age = async (interval: string): Promise<void> => {
    await sql(
      fixture.gateway.database,
      `UPDATE provider_callbacks SET received_at = now() - interval '${interval}' WHERE payment_id = $1`,
      [paid.id],
    );
  };
  await age('89 days');
  while (await keeper().clearOld());
  expect((await keptOf(paid.id))[0]?.body_sealed).not.toBeNull();
  await age('91 days');
  while (await keeper().clearOld());
  expect(await keptOf(paid.id)).toMatchObject([
    { operation: 'CreateTransaction', provider_ref: order.id, body: null, body_sealed: null },
  ]);
});

it('goes along when the secrets’ key is changed', async () => {
  const { body: paid } = await fixture.pay({ provider: 'click' });
  await click(fixture, paid.id, { click_trans_id: String(Date.now()) });
  const old = keyring();
  const fresh = parseKeyring(`fresh:${Buffer.alloc(32, 7).toString('base64')}`);
  const both = { active: 'fresh', keys: new Map([...fresh.keys, ...old.keys]) };
  const rotated = await new RotateSecrets(fixture.gateway.prisma, both).execute();
  expect(rotated.find(({ column }) => column === 'provider_callbacks.body_sealed')).toMatchObject({ unreadable: [] });
  const [kept] = await keptOf(paid.id);
  expect(open(kept!.body_sealed!, callbackOwner(kept!.reference!), fresh)).toContain(paid.id);
});
