import type { ExpectedProblem } from './problem-document.js';

/** A body that must be refused, and how. A text is sent as it is. */
export interface BadBody extends ExpectedProblem {
  what: string;
  body: unknown;
}

/** A field of the wrong type: which code says so depends on how the field is checked; that it is named is the promise. */
export interface WrongType {
  what: string;
  body: unknown;
  pointer: string;
}

type Fields = Record<string, unknown>;

export const MAX = Number.MAX_SAFE_INTEGER;
/** In the catalogue of every test merchant (data/classifier-sample.jsonl). */
export const BREAD = 'Хлеб пшеничный формовой';

const named = (spic: string, packageCode: string, units: number): Fields => ({
  ...{ name: 'x', price: 1_000, qty: 1, vat_percent: 12 },
  ...{ spic, package_code: packageCode, units },
});
export const BY_CODE = named('01905001001000001', '1500001', 796);
const JUICE = named('02009001001000035', '1500048', 778);
const BEER = named('02203001001000036', '1500050', 868);
const OLD_LAMP = named('08539001001000062', '1500094', 796);

export function sale(more: Fields = {}): Fields {
  return { items: [item()], payment: { method: 'cash' }, cashier_id: 'cashier-1', ...more };
}

export function item(more: Fields = {}): Fields {
  return { name: BREAD, price: 112_000, qty: 1, ...more };
}

function refused(what: string, body: unknown, ...faults: string[]): BadBody {
  return { what, body, status: 422, code: faults[0]?.split(' ')[1] ?? '', faults };
}

const ofItem = (what: string, more: Fields, ...faults: string[]): BadBody =>
  refused(what, sale({ items: [item(more)] }), ...faults.map((fault) => `/items/0${fault}`));

/** The JSON text with one number written as only text can say it. */
const withNumber = (body: Fields, number: string): string => JSON.stringify(body).replace('"NUMBER"', number);

const UNPARSABLE: BadBody[] = [
  ['cut off', '{"items":'],
  ['no JSON at all', 'nonsense'],
  ['empty', ''],
  ['trailing text', `${JSON.stringify(sale())} x`],
  ['single quotes', "{'items': []}"],
  ['NaN', '{"items": NaN}'],
  ['a raw control character in a text', '{"cashier_id": "a\u0001"}'],
].map(([what, body]) => ({ what: `JSON: ${what}`, body, status: 400, code: 'malformed_json', faults: [] }));

const NO_OBJECT: BadBody[] = [
  refused('null', 'null', ' required'),
  refused('a list', '[]', ' invalid_type'),
  refused('a text', '"sale"', ' invalid_type'),
  refused('a number', '5', ' invalid_type'),
  refused('true', 'true', ' invalid_type'),
  refused('an empty object', {}, '/items required', '/payment required', '/cashier_id required'),
  refused('too deep', `{"metadata":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`, `/metadata${'/a'.repeat(15)} too_deep`),
  {
    what: '300 KiB',
    body: sale({ metadata: { pad: 'x'.repeat(300 * 1024) } }),
    status: 413,
    code: 'payload_too_large',
  },
];

const MONEY: BadBody[] = [
  ofItem('price 0', { price: 0 }, '/price E-012'),
  ofItem('negative price', { price: -1 }, '/price E-012'),
  ofItem('fraction of a tiyin', { price: 1.5 }, '/price invalid_type'),
  ofItem('price as text', { price: '112000' }, '/price invalid_type'),
  ofItem('price beyond 2^53', { price: MAX + 1 }, '/price out_of_range'),
  ofItem('price 1e300', { price: 1e300 }, '/price out_of_range'),
  refused(
    'price 1e400',
    withNumber(sale({ items: [item({ price: 'NUMBER' })] }), '1e400'),
    '/items/0/price invalid_type',
  ),
  ofItem('line beyond 2^53', { price: MAX, qty: 2 }, ' total_too_large'),
  ofItem('line beyond 2^53 by a thousandth', { price: MAX, qty: '1.001' }, ' total_too_large'),
  refused('total beyond 2^53', sale({ items: [item({ price: MAX }), item({ price: MAX })] }), '/items total_too_large'),
  ofItem('negative discount', { discount: -1 }, '/discount out_of_range'),
  ofItem('fractional discount', { discount: 0.5 }, '/discount invalid_type'),
  ofItem('discount beyond the line', { discount: 112_001 }, '/discount line_total_negative'),
  refused('nothing to pay', sale({ items: [item({ discount: 112_000 })] }), '/items invalid_value'),
  ofItem('vat_percent 15', { vat_percent: 15 }, '/vat_percent E-015'),
  ofItem('vat_percent -1', { vat_percent: -1 }, '/vat_percent out_of_range'),
  ofItem('vat_percent 12.5', { vat_percent: 12.5 }, '/vat_percent invalid_type'),
];

const QUANTITIES: BadBody[] = [
  ...[0, -1, 1.2345, 0.0001, 1e21, 1e-7, MAX * 2],
  ...['0', '0.000', '-1', '1.2345', '1e2', '1E2', '', ' 1', '1 ', '1,5', '+1', '0x10', 'abc', 'NaN', 'Infinity', '١'],
  ...[true, [], [1], {}, '9'.repeat(400)],
].map((qty) => ofItem(`qty ${JSON.stringify(qty).slice(0, 30)}`, { qty }, '/qty invalid_quantity'));

const COUNTS: BadBody[] = [
  refused('no items', sale({ items: [] }), '/items too_few'),
  refused(
    '501 items',
    sale({ items: Array.from({ length: 501 }, () => ({ name: BREAD, price: 1, qty: 1 })) }),
    '/items too_many',
  ),
  ofItem('301 labels', { labels: Array.from({ length: 301 }, (_, index) => `L${index}`) }, '/labels too_many'),
];

const UNKNOWN_FIELDS: BadBody[] = [
  refused('unknown field', sale({ surprise: 1 }), '/surprise unknown_field'),
  refused('field that needs escaping', sale({ 'a/b~c': 1 }), '/a~1b~0c unknown_field'),
  ofItem('unknown field of an item', { vat: 12_000 }, '/vat unknown_field'),
  refused(
    'unknown field of the payment',
    sale({ payment: { method: 'cash', change: 5 } }),
    '/payment/change unknown_field',
  ),
  refused('unknown field of the customer', sale({ customer: { name: 'A' } }), '/customer/name unknown_field'),
  ofItem('unknown field of the commission', { commission: { name: 'A' } }, '/commission/name unknown_field'),
];

/** Every field once with each type that it is not; null counts as absent where a field is optional. */
export const WRONG_TYPES: readonly WrongType[] = [
  ...wrongTypes('', (value, field) => sale({ [field]: value }), {
    texts: ['cashier_id', 'branch_id', 'device_id', 'external_id', 'callback_url', 'type'],
    lists: ['items'],
    objects: ['payment', 'customer', 'metadata'],
  }),
  ...wrongTypes('/items/0', (value, field) => sale({ items: [item({ [field]: value })] }), {
    texts: ['name', 'sku', 'spic', 'package_code', 'barcode'],
    numbers: ['price', 'discount', 'units', 'vat_percent'],
    lists: ['labels'],
    objects: ['commission'],
  }),
  ...wrongTypes(
    '/payment',
    (value, field) => sale({ payment: { method: 'mixed', cash: 1, card: 1, [field]: value } }),
    {
      texts: ['method', 'provider'],
      numbers: ['cash', 'card'],
    },
  ),
  ...wrongTypes('/customer', (value, field) => sale({ customer: { [field]: value } }), {
    texts: ['phone', 'email', 'tin', 'pinfl'],
  }),
  ...wrongTypes('/items/0/commission', (value, field) => sale({ items: [item({ commission: { [field]: value } })] }), {
    texts: ['tin', 'pinfl'],
  }),
];

function wrongTypes(
  parent: string,
  bodyWith: (value: unknown, field: string) => Fields,
  fields: { texts?: string[]; numbers?: string[]; lists?: string[]; objects?: string[] },
): WrongType[] {
  const others: Record<string, unknown[]> = {
    texts: [5, true, [], {}],
    numbers: ['5', true, [], {}],
    lists: ['a', 5, true, {}],
    objects: ['a', 5, true, []],
  };
  return Object.entries(fields).flatMap(([kind, names]) =>
    names.flatMap((field) =>
      (others[kind] ?? []).map((value) => {
        const pointer = `${parent}/${field}`;
        return { what: `${pointer} = ${JSON.stringify(value)}`, body: bodyWith(value, field), pointer };
      }),
    ),
  );
}

const WITHIN_LISTS: BadBody[] = [
  refused('an item that is null', sale({ items: [null] }), '/items/0 required'),
  refused('an item that is a text', sale({ items: ['bread'] }), '/items/0 invalid_type'),
  refused('an item that is a list', sale({ items: [[]] }), '/items/0 invalid_type'),
  refused('the second item is bad', sale({ items: [item(), 5] }), '/items/1 invalid_type'),
  ofItem('a label that is a number', { labels: [5] }, '/labels invalid_type'),
  ofItem('an empty label', { labels: [''] }, '/labels too_short'),
];

const TEXTS: BadBody[] = ['\u0000', 'a\u0000b', 'a\u0007b', 'a\nb', 'a\u0085b', '\ud800', 'x\udc00y'].flatMap(
  (text) => [
    ofItem(`name ${JSON.stringify(text)}`, { name: text }, '/name invalid_text'),
    refused(`cashier_id ${JSON.stringify(text)}`, sale({ cashier_id: text }), '/cashier_id invalid_text'),
    refused(`external_id ${JSON.stringify(text)}`, sale({ external_id: text }), '/external_id invalid_text'),
    refused(
      `provider ${JSON.stringify(text)}`,
      sale({ payment: { method: 'card', provider: text } }),
      '/payment/provider invalid_text',
    ),
    refused(`metadata value ${JSON.stringify(text)}`, sale({ metadata: { a: text } }), '/metadata invalid_value'),
    refused(`metadata key ${JSON.stringify(text)}`, sale({ metadata: { [text]: 'a' } }), '/metadata invalid_value'),
    ofItem(`label ${JSON.stringify(text)}`, { labels: [text] }, '/labels invalid_text'),
    ofItem(`sku ${JSON.stringify(text)}`, { sku: text }, '/sku invalid_text'),
    ofItem(`barcode ${JSON.stringify(text)}`, { barcode: text }, '/barcode invalid_text'),
  ],
);

const LENGTHS: BadBody[] = [
  ofItem('name of 513', { name: 'x'.repeat(513) }, '/name too_long'),
  ofItem('empty sku', { sku: '' }, '/sku too_short'),
  ofItem('sku of 129', { sku: 'x'.repeat(129) }, '/sku too_long'),
  ofItem('barcode of 64', { barcode: '1'.repeat(64) }, '/barcode too_long'),
  ofItem('label of 129', { labels: ['x'.repeat(129)] }, '/labels too_long'),
  refused('empty cashier', sale({ cashier_id: '' }), '/cashier_id too_short'),
  refused('external_id of 129', sale({ external_id: 'x'.repeat(129) }), '/external_id too_long'),
  refused('empty external_id', sale({ external_id: '' }), '/external_id too_short'),
  refused('callback_url of 2049', sale({ callback_url: `https://a.uz/${'x'.repeat(2036)}` }), '/callback_url too_long'),
  refused(
    '51 metadata keys',
    sale({ metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 'v'])) }),
    '/metadata invalid_value',
  ),
  refused('metadata key of 65', sale({ metadata: { ['k'.repeat(65)]: 'v' } }), '/metadata invalid_value'),
  refused('metadata value of 513', sale({ metadata: { k: 'v'.repeat(513) } }), '/metadata invalid_value'),
  refused('metadata value that is a number', sale({ metadata: { k: 5 } }), '/metadata invalid_value'),
];

const FORMATS: BadBody[] = [
  ofItem('spic of 16 digits', { spic: '1'.repeat(16) }, '/spic invalid_format'),
  ofItem('spic with letters', { spic: `${'1'.repeat(16)}a` }, '/spic invalid_format'),
  ofItem('package_code with letters', { package_code: 'abc' }, '/package_code invalid_format'),
  ofItem('commission tin of 8', { commission: { tin: '12345678' } }, '/commission/tin invalid_format'),
  ofItem('commission pinfl of 13', { commission: { pinfl: '1'.repeat(13) } }, '/commission/pinfl invalid_format'),
  refused('phone', sale({ customer: { phone: 'call me' } }), '/customer/phone invalid_format'),
  refused('e-mail', sale({ customer: { email: 'no-address' } }), '/customer/email invalid_format'),
  refused('callback that is no URL', sale({ callback_url: 'here' }), '/callback_url invalid_format'),
  refused('callback by ftp', sale({ callback_url: 'ftp://a.uz/' }), '/callback_url invalid_format'),
  refused('callback by javascript', sale({ callback_url: 'javascript:alert(1)' }), '/callback_url invalid_format'),
  refused('unknown method', sale({ payment: { method: 'barter' } }), '/payment/method invalid_value'),
  refused('a refund is no sale', sale({ type: 'refund' }), '/type invalid_value'),
];

const PLACES: BadBody[] = [
  refused('unknown cashier', sale({ cashier_id: 'no-such-cashier' }), '/cashier_id cashier_unknown'),
  refused('unknown branch', sale({ branch_id: 'nowhere' }), '/branch_id branch_unknown'),
  refused('unknown device', sale({ device_id: 'dev_nothing' }), '/device_id device_unknown'),
];

const GOODS: BadBody[] = [
  ofItem('unknown name', { name: 'Unobtainium' }, '/name goods_unknown'),
  // What the catalogue does not know by its sku or barcode it may know by its name (docs/catalog.md); here by nothing.
  ofItem('unknown sku', { sku: 'nope', name: 'Unobtainium' }, '/sku goods_unknown'),
  ofItem('unknown barcode', { barcode: '404', name: 'Unobtainium' }, '/barcode goods_unknown'),
  ofItem('empty name', { name: '' }, '/name E-011'),
  ofItem('blank name', { name: '   ' }, '/name E-011'),
  ofItem('unknown spic', { ...BY_CODE, spic: '9'.repeat(17) }, '/spic E-013'),
  ofItem('inactive spic', OLD_LAMP, '/spic E-013'),
  ofItem('foreign package', { ...BY_CODE, package_code: '1500048' }, '/package_code E-014'),
  ofItem('marked without label', JUICE, '/labels E-004'),
  ofItem('marked, half a piece', { ...JUICE, qty: 0.5, labels: ['L1'] }, '/qty E-018', '/labels E-017'),
  ofItem('marked, one label of two', { ...JUICE, qty: 2, labels: ['L1'] }, '/labels E-017'),
  refused(
    'cash for goods that may not be sold for cash',
    sale({ items: [{ ...BEER, labels: ['L1'] }] }),
    '/payment E-003',
  ),
  refused(
    'a part in cash for goods that may not be sold for cash',
    sale({ items: [{ ...BEER, labels: ['L1'] }], payment: { method: 'mixed', cash: 1, card: 999 } }),
    '/payment E-003',
  ),
];

const PAYMENTS: BadBody[] = [
  refused(
    'online, without an account at the provider',
    sale({ payment: { method: 'online', provider: 'click' } }),
    '/payment/provider provider_unknown',
  ),
  refused('mixed, too little', sale({ payment: { method: 'mixed', cash: 1, card: 1 } }), '/payment payment_mismatch'),
  refused(
    'mixed, one tiyin more',
    sale({ payment: { method: 'mixed', cash: 112_000, card: 1 } }),
    '/payment payment_mismatch',
  ),
  refused('mixed without card', sale({ payment: { method: 'mixed', cash: 112_000 } }), '/payment/card required'),
  refused(
    'mixed without sums',
    sale({ payment: { method: 'mixed' } }),
    '/payment/cash required',
    '/payment/card required',
  ),
  refused(
    'mixed, negative part',
    sale({ payment: { method: 'mixed', cash: -1, card: 112_001 } }),
    '/payment/cash E-008',
  ),
  refused(
    'mixed beyond 2^53',
    sale({ payment: { method: 'mixed', cash: MAX, card: MAX } }),
    '/payment payment_mismatch',
  ),
  refused('cash with a sum', sale({ payment: { method: 'cash', cash: 112_000 } }), '/payment/cash invalid_value'),
];

const ALL_AT_ONCE: BadBody[] = [
  refused(
    'all violations of shape at once',
    {
      items: [{ name: 5, price: 1.5, qty: 'x', extra: 1 }, item({ discount: -1 })],
      payment: { method: 'barter' },
      cashier_id: 7,
      metadata: [],
      surprise: null,
    },
    ...['/surprise unknown_field', '/items/0/extra unknown_field', '/items/0/name invalid_type'],
    ...['/items/0/price invalid_type', '/items/0/qty invalid_quantity', '/items/1/discount out_of_range'],
    ...['/payment/method invalid_value', '/cashier_id invalid_type', '/metadata invalid_value'],
  ),
  refused(
    'all violations of the fiscal rules at once',
    sale({
      items: [
        item({ name: 'Unobtainium' }),
        item({ price: 0 }),
        { ...JUICE, vat_percent: 15 },
        OLD_LAMP,
        item({ discount: MAX }),
      ],
      payment: { method: 'online' },
      cashier_id: 'no-such-cashier',
    }),
    ...['/items/0/name goods_unknown', '/items/4/discount line_total_negative', '/items/1/price E-012'],
    ...['/items/2/vat_percent E-015', '/items/2/labels E-004', '/items/3/spic E-013'],
    ...['/cashier_id cashier_unknown', '/payment/provider provider_unknown'],
  ),
];

export const BAD_BODIES: readonly BadBody[] = [
  ...[...UNPARSABLE, ...NO_OBJECT, ...MONEY, ...QUANTITIES, ...COUNTS, ...UNKNOWN_FIELDS, ...WITHIN_LISTS],
  ...[...TEXTS, ...LENGTHS, ...FORMATS, ...PLACES, ...GOODS, ...PAYMENTS, ...ALL_AT_ONCE],
];
