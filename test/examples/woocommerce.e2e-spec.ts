// Promise: the plugin sells an order once however often its job runs, refunds what the shop gives back, and says at the order what is wrong.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { signWebhook } from '#sdk';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { ExampleRig } from './example-rig.js';
import { newFolder, type Language } from './languages.js';

const ROOT = process.cwd();
const hasPhp = process.env['CI'] === 'true' || spawnSync('php', ['-v']).error === undefined;
const heldTest = hasPhp ? test : test.skip;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

interface Shop {
  orders: Record<string, { meta: Record<string, string> & { _fiscal_request?: object }; notes: string[] }>;
  later: { hook: string; arguments: number[]; in_seconds: number }[];
  answers: number[];
}

let rig: ExampleRig;
let plugin: string;
let env: Record<string, string>;

beforeAll(async () => {
  if (!hasPhp) return;
  rig = await ExampleRig.start();
  const folder = await newFolder(rig.folder, 'woocommerce');
  cpSync(join(ROOT, 'examples', 'woocommerce'), folder, { recursive: true });
  cpSync(join(ROOT, 'examples', 'php', 'FiscalGateway.php'), join(folder, 'FiscalGateway.php'));
  plugin = join(folder, 'fiscal-receipts.php');
  const given = await rig.environmentFor({ name: 'woocommerce', algorithm: 'ed25519' } as Language);
  env = {
    FISCAL_GATEWAY_URL: rig.url,
    FISCAL_CLIENT_ID: given['CLIENT_ID']!,
    FISCAL_CLIENT_SECRET: given['CLIENT_SECRET']!,
    FISCAL_KEY_ID: given['KEY_ID']!,
    FISCAL_KEY_FILE: given['SIGNING_KEY_FILE']!,
    FISCAL_CASHIER_ID: given['CASHIER_ID']!,
    FISCAL_WEBHOOK_SECRETS: SECRET,
    FISCAL_SHIPPING_NAME: rig.system.merchant.goods[2]!,
  };
});
afterAll(() => rig?.stop());

/** One life of the shop: its orders, and what happens to them. */
async function shop(orders: object[], happens: object[], more: Record<string, string> = {}): Promise<Shop> {
  const child = spawn('php', [join(ROOT, 'test', 'examples', 'wordpress-stand-ins.php')], {
    env: { ...process.env, ...env, ...more, PLUGIN: plugin },
  });
  const chunks: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
  child.stdin.end(JSON.stringify({ orders, happens }));
  const code = await new Promise((resolve) => child.once('close', resolve));
  const printed = Buffer.concat(chunks).toString();
  if (code !== 0) throw new Error(printed + Buffer.concat(errors).toString());
  return JSON.parse(printed) as Shop;
}

const paid = (id: number) => ({ hook: 'woocommerce_payment_complete', arguments: [id] });

function orderOf(id: number, more: object = {}): object {
  const [bread, tea] = rig.system.merchant.goods;
  return {
    id,
    payment_method: 'payme',
    items: [
      // Two of them, with a coupon of 1 000 so'm; taxes beside.
      {
        id: id * 10 + 1,
        type: 'line_item',
        name: bread,
        qty: 2,
        subtotal: '20000',
        subtotal_tax: '2400',
        total: '19107.14',
        tax: '2292.86',
      },
      { id: id * 10 + 2, type: 'line_item', name: tea, qty: 3, subtotal: '100.00', total: '100.00' },
      { id: id * 10 + 3, type: 'shipping', name: 'Courier', qty: 1, total: '15000' },
    ],
    ...more,
  };
}

heldTest('an order is sold once with its discount and its delivery, and partly given back', async () => {
  const refund = { id: 701, items: [{ id: 7011, type: 'line_item', name: 'x', qty: 0, total: '-10700', of: 711 }] };
  const order = orderOf(71);
  const given = { hook: 'woocommerce_order_refunded', arguments: [71, 701] };
  const { orders, later } = await shop([order, refund], [paid(71), paid(71), given, given]);
  expect(later).toEqual([]);
  expect(orders['71']?.notes).toEqual([
    expect.stringMatching(/^Fiscal receipt: http/),
    expect.stringMatching(/^Fiscal receipt: http/),
  ]);
  const receipt = await rig.sdk.receipts.get(orders['71']!.meta['_fiscal_receipt_id']!);
  // Not the order's key itself, which opens its page.
  const digest = createHash('sha256').update('wc_order_71').digest('hex').slice(0, 16);
  expect(receipt).toMatchObject({
    status: 'registered',
    external_id: `wc-71-${digest}`,
    total: 2_140_000 + 10_000 + 1_500_000,
  });
  expect(receipt.items).toMatchObject([
    { qty: 2, price: 1_120_000, discount: 100_000, total: 2_140_000 },
    // 33.333… so'm a piece: rounded up, the rest is discount.
    { qty: 3, price: 3_334, discount: 2, total: 10_000 },
    { qty: 1, total: 1_500_000 },
  ]);
  expect(receipt.refunded).toMatchObject({ total: 1_070_000 });
  expect(orders['701']?.meta).toMatchObject({ _fiscal_status: 'registered' });
  // Another life of WordPress, which has forgotten everything: the same receipt.
  const again = await shop([orderOf(71)], [paid(71)]);
  expect(again.orders['71']?.meta['_fiscal_receipt_id']).toBe(receipt.id);
});

heldTest('goods by weight cost what the order says, to the tiyin', async () => {
  const items = [
    // 25 657.72 for 3.353 kg: the price of a kilogram is no whole tiyin.
    { id: 781, type: 'line_item', name: rig.system.merchant.goods[0], qty: 3.353, total: '25657.72' },
    { id: 782, type: 'line_item', name: rig.system.merchant.goods[1], qty: 0.9, subtotal: '1000', total: '900' },
  ];
  const { orders } = await shop([orderOf(78, { items })], [paid(78)]);
  const receipt = await rig.sdk.receipts.get(orders['78']!.meta['_fiscal_receipt_id']!);
  expect(receipt).toMatchObject({ status: 'registered', total: 2_565_772 + 90_000 });
  expect(receipt.items).toMatchObject([
    { qty: 3.353, price: 765_217, discount: 1, total: 2_565_772 },
    { qty: 0.9, price: 111_112, discount: 10_001, total: 90_000 },
  ]);
});

heldTest('what cannot be sold is said at the order', async () => {
  const unknown = { items: [{ id: 1, type: 'line_item', name: 'no such thing', qty: 1, total: '100' }] };
  const { orders } = await shop([orderOf(72, unknown)], [paid(72)]);
  expect(orders['72']?.notes).toEqual([expect.stringMatching(/^No fiscal receipt \(\S+\): \/items\/0/)]);
  expect(Object.keys(orders['72']?.meta ?? { none: '' })).toEqual([]);
  const { orders: unnamed } = await shop(
    [orderOf(73), { id: 703, items: [] }],
    [paid(73), { hook: 'woocommerce_order_refunded', arguments: [73, 703] }],
  );
  expect(unnamed['73']?.notes.at(-1)).toContain('names no lines');
});

heldTest('a gateway that is away is asked again later, with the same key', async () => {
  const away = { FISCAL_GATEWAY_URL: `http://127.0.0.1:${await freePorts(1)}` };
  const { orders, later } = await shop([orderOf(74)], [paid(74)], away);
  expect(orders['74']?.notes).toEqual([expect.stringContaining('asked again')]);
  expect(later).toEqual([{ hook: 'fiscal_receipts_sell', arguments: [74], in_seconds: expect.any(Number) }]);
});

heldTest('a proxy whose gateway is away is asked again later, too', async () => {
  const proxy = createServer((_request, response) => response.writeHead(502).end('<h1>Bad gateway</h1>'));
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  try {
    const away = { FISCAL_GATEWAY_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    const { orders, later } = await shop([orderOf(76)], [paid(76)], away);
    expect(orders['76']?.notes).toEqual([expect.stringContaining('asked again')]);
    expect(later).toEqual([{ hook: 'fiscal_receipts_sell', arguments: [76], in_seconds: expect.any(Number) }]);
  } finally {
    proxy.close();
  }
});

heldTest('a job whose process dies in the call stands there to be run again', async () => {
  const kept = join(rig.folder, 'later.json');
  const gateway = createServer((request, response) => {
    if (request.url === '/oauth/token')
      response.writeHead(200).end(JSON.stringify({ access_token: 'token', expires_in: 900 }));
    else dying.kill('SIGKILL');
  });
  await once(gateway.listen(0, '127.0.0.1'), 'listening');
  const away = { FISCAL_GATEWAY_URL: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`, LATER_FILE: kept };
  const dying = spawn('php', [join(ROOT, 'test', 'examples', 'wordpress-stand-ins.php')], {
    env: { ...process.env, ...env, ...away, PLUGIN: plugin },
  });
  try {
    dying.stdin.end(JSON.stringify({ orders: [orderOf(80)], happens: [paid(80)] }));
    expect((await once(dying, 'close'))[1]).toBe('SIGKILL');
    expect(JSON.parse(readFileSync(kept, 'utf8'))).toEqual([
      { hook: 'fiscal_receipts_sell', arguments: [80], in_seconds: 300 },
    ]);
  } finally {
    gateway.closeAllConnections();
    gateway.close();
  }
});

heldTest('a refusal of the shop is none of its order', async () => {
  const gateway = createServer((request, response) => {
    const isToken = request.url === '/oauth/token';
    const problem = { code: 'signature_expired', detail: 'The clock is wrong.', errors: [] };
    const answer = isToken ? { access_token: 'token', expires_in: 900 } : problem;
    response.writeHead(isToken ? 200 : 401).end(JSON.stringify(answer));
  });
  await once(gateway.listen(0, '127.0.0.1'), 'listening');
  try {
    const strict = { FISCAL_GATEWAY_URL: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}` };
    const { orders, later } = await shop([orderOf(81)], [paid(81)], strict);
    expect(orders['81']?.notes).toEqual([expect.stringContaining('it is asked again: 401 signature_expired')]);
    expect(later.map(({ hook }) => hook)).toEqual(['fiscal_receipts_sell']);
  } finally {
    gateway.close();
  }
});

heldTest('what was given back before the order was sold follows its receipt', async () => {
  const refund = {
    ...{ id: 820, parent: 82 },
    items: [{ id: 8201, type: 'line_item', name: 'x', qty: 0, total: '-10700', of: 821 }],
  };
  const given = { hook: 'woocommerce_order_refunded', arguments: [82, 820] };
  const completed = { hook: 'woocommerce_order_status_completed', arguments: [82] };
  const { orders } = await shop([orderOf(82, { payment_method: 'cod' }), refund], [given, completed]);
  const receipt = await rig.sdk.receipts.get(orders['82']!.meta['_fiscal_receipt_id']!);
  expect(receipt).toMatchObject({ status: 'registered', refunded: { total: 1_070_000 } });
  expect(orders['820']?.meta).toMatchObject({ _fiscal_status: 'registered' });
});

heldTest('an order that is edited after a lost answer is the same sale; after its receipt, that is said', async () => {
  const first = (await shop([orderOf(83)], [paid(83)])).orders['83']!;
  const [, ...others] = (orderOf(83) as { items: object[] }).items;
  // The answer was lost: nothing is kept but what was sent.
  const lost = { items: others, meta: { _fiscal_request: first.meta._fiscal_request } };
  const { orders } = await shop([orderOf(83, lost)], [paid(83), paid(83)]);
  expect(orders['83']?.meta['_fiscal_receipt_id']).toBe(first.meta['_fiscal_receipt_id']);
  expect(orders['83']?.notes).toEqual([
    expect.stringMatching(/^Fiscal receipt: http/),
    expect.stringContaining('has changed since'),
  ]);
});

heldTest('an order of another shop with the same number is another sale', async () => {
  const [one, other] = [
    await shop([orderOf(84)], [paid(84)]),
    await shop([orderOf(84, { order_key: 'x' })], [paid(84)]),
  ];
  const receipts = [one, other].map(({ orders }) => orders['84']?.meta['_fiscal_receipt_id']);
  expect(receipts).toEqual([expect.stringMatching(/^rcp_/), expect.stringMatching(/^rcp_/)]);
  expect(receipts[0]).not.toBe(receipts[1]);
});

heldTest('a refund waits for its sale, which is still on its way', async () => {
  const gateway = createServer((request, response) => {
    const token = { access_token: 'token', expires_in: 900 };
    const isRefund = request.url?.endsWith('/refunds') === true;
    const problem = { code: 'receipt_not_registered', detail: 'It is not registered.', errors: [] };
    const answer = request.url === '/oauth/token' ? token : isRefund ? problem : { id: 'rcp_77', status: 'accepted' };
    response.writeHead(isRefund ? 409 : 200).end(JSON.stringify(answer));
  });
  await once(gateway.listen(0, '127.0.0.1'), 'listening');
  try {
    const slow = { FISCAL_GATEWAY_URL: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}` };
    const refund = { id: 707, items: [{ id: 7071, type: 'line_item', name: 'x', qty: 0, total: '-10700', of: 771 }] };
    const given = { hook: 'woocommerce_order_refunded', arguments: [77, 707] };
    const { orders, later } = await shop([orderOf(77), refund], [paid(77), given], slow);
    expect(orders['77']?.notes).toEqual(['The receipt rcp_77 is accepted.']);
    expect(later.map(({ hook, arguments: ids }) => [hook, ids])).toEqual([
      ['fiscal_receipts_sell', [77]],
      ['fiscal_receipts_refund', [77, 707]],
    ]);
  } finally {
    gateway.close();
  }
});

heldTest('a refund waits for its sale, which was not answered yet, or which a person has to decide', async () => {
  const away = { FISCAL_GATEWAY_URL: `http://127.0.0.1:${await freePorts(1)}` };
  const refund = (of: number) => ({ hook: 'woocommerce_order_refunded', arguments: [of, of * 10] });
  const undecided = { meta: { _fiscal_receipt_id: 'rcp_79', _fiscal_status: 'unknown' } };
  const given = [78, 79].map((of) => ({ id: of * 10, items: [] }));
  const { orders, later } = await shop(
    [orderOf(78), orderOf(79, undecided), ...given],
    [paid(78), refund(78), refund(79)],
    away,
  );
  expect(orders['78']?.notes).toEqual([expect.stringContaining('asked again')]);
  expect(later.map(({ hook, arguments: ids }) => [hook, ids])).toEqual([
    ['fiscal_receipts_sell', [78]],
    ['fiscal_receipts_refund', [78, 780]],
    ['fiscal_receipts_refund', [79, 790]],
    ['fiscal_receipts_read', [79]],
  ]);
});

heldTest('a webhook is verified, and has the receipt read again', async () => {
  const first = await shop([orderOf(75)], [paid(75)]);
  const id = first.orders['75']!.meta['_fiscal_receipt_id']!;
  const body = JSON.stringify({ id: 'evt_1', type: 'receipt.registered', data: { receipt_id: id } });
  const headers = await signWebhook(body, SECRET, { id: 'evt_1' });
  const forged = { ...headers, 'webhook-signature': 'v1,bm90IG91cnM=' };
  const { answers, orders } = await shop(
    [orderOf(75)],
    [paid(75), { webhook: { headers: forged, body } }, { webhook: { headers, body } }],
  );
  expect(answers).toEqual([400, 204]);
  expect(orders['75']?.meta).toMatchObject({ _fiscal_status: 'registered' });
});
