/** @typedef {Record<string, any>} Schema */

const AT = '2026-11-22T09:30:00.000Z';
const ULID = '01kaey3m5v8q2w7r4t6y9z1b3d';

/** Ids by the field that holds them; the page of a device calls its own `id` what others call `device_id`. */
const PREFIXES = /** @type {Record<string, string>} */ ({
  receipt: 'rcp',
  refund: 'rcp',
  refund_of: 'rcp',
  subject: 'rcp',
  last: 'rcp',
  device: 'dev',
  from_device: 'dev',
  to_device: 'dev',
  default_device: 'dev',
  payment: 'pay',
  merchant: 'mer',
  branch: 'brn',
  cashier: 'csh',
  client: 'cli',
  attempt: 'att',
  open_attempt: 'att',
  event: 'evt',
  webhook: 'whk',
  delivery: 'dlv',
  task: 'tsk',
  key: 'key',
  group: 'grp',
  provider_account: 'pac',
  shift: 'sht',
});

/** Whose `id` it is, by the beginning of the component's name. */
const OWNERS = /** @type {readonly [RegExp, string][]} */ ([
  [/^(Receipt|Refund)/, 'rcp'],
  [/^(Payment|Disagreement)/, 'pay'],
  [/^(New)?ClientKey|^Key/, 'key'],
  [/^Client|^NewClient/, 'cli'],
  [/^(NewWebhook|ChangedWebhook|Webhook)/, 'whk'],
  [/^Delivery/, 'dlv'],
  [/^Device|^Watched/, 'dev'],
  [/^Branch/, 'brn'],
  [/^Cashier/, 'csh'],
  [/^(Group|Place)/, 'grp'],
  [/^Event/, 'evt'],
  [/^Sync/, 'syn'],
  [/^Import/, 'imp'],
  [/^Invitation/, 'inv'],
  [/^MessageAccount/, 'mac'],
  [/^Message/, 'msg'],
  [/Account/, 'pac'],
  [/^(Platform)?Merchant/, 'mer'],
  [/^Settlement/, 'stl'],
  [/^User/, 'usr'],
  [/^Suppression/, 'sup'],
  [/Task/, 'tsk'],
]);

/** What a field of this name holds, where its schema allows it. */
const TEXTS = /** @type {Record<string, string>} */ ({
  name: 'Non',
  cashier_name: 'Aziza',
  code: 'main',
  external_id: 'order-1001',
  url: 'https://shop.example/hook',
  base_url: 'http://10.20.0.5:8765',
  receipt_url: 'https://gateway.example/r/4tqz',
  verification_url: 'https://ofd.soliq.uz/check?t=UZ000000000001&r=7&c=20261122143000&s=012345678901',
  terminal_id: 'UZ000000000001',
  fiscal_sign: '012345678901',
  spic: '01905001001000001',
  package_code: '1500001',
  sku: 'non-1',
  barcode: '4780000000012',
  phone: '998901234567',
  email: 'buyer@example.uz',
  tin: '300000000',
  type: 'receipt.registered',
  provider: 'payme',
  currency: 'UZS',
  actor: `cli_${ULID}`,
  request_id: `req_${ULID}`,
  invited_by: `cli_${ULID}`,
  action: 'client.change',
  reason: 'checked at the register',
  address: '203.0.113.7',
  secret: 'whsec_c2hvd24gb25jZSBhbmQgbmV2ZXIgYWdhaW4=',
  client_secret: 'shown once and never again',
  day: '2026-11-22',
  key: '2026-11-22',
  from: '2026-11-01',
  to: '2026-11-22',
  access_token: 'fga_shown-once',
  token_type: 'Bearer',
  scope: 'receipts:read receipts:write',
  verdict: 'equal',
  outcome: 'delivered',
  method: 'cash',
  address_line: 'Amir Temur 1',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
});

const NUMBERS = /** @type {Record<string, number>} */ ({
  total: 1_500_000,
  amount: 1_500_000,
  price: 1_500_000,
  price_tiyin: 1_500_000,
  cash: 1_500_000,
  card: 0,
  discount: 0,
  refunded: 0,
  vat: 160_714,
  vat_total: 160_714,
  vat_percent: 12,
  qty: 1,
  line: 1,
  units: 796,
  number: 1,
  http_status: 200,
  last_http_status: 200,
  expires_in: 900,
  receipt_seq: 7,
  shift_number: 41,
});

/**
 * An answer as it may be: everything that the schema has, with values that a reader knows, and within the schema.
 * @param {Schema} schema
 * @param {(schema: Schema) => Schema} resolve follows `$ref`
 * @returns {unknown}
 */
export function exampleAnswer(schema, resolve) {
  return valueOf(schema, { resolve, name: '', owner: '', depth: 0 });
}

/** @typedef {{ resolve: (schema: Schema) => Schema, name: string, owner: string, depth: number }} At */

/** @param {Schema} given @param {At} at @returns {unknown} */
function valueOf(given, at) {
  const owner = typeof given['$ref'] === 'string' ? (given['$ref'].split('/').at(-1) ?? '') : at.owner;
  const schema = at.resolve(given);
  if ('example' in schema) return schema['example'];
  if ('const' in schema) return schema['const'];
  if (schema['enum']) return schema['enum'].includes(TEXTS[at.name]) ? TEXTS[at.name] : schema['enum'][0];
  const choices = schema['anyOf'] ?? schema['oneOf'];
  if (choices) return valueOf(choices[0], { ...at, owner });
  const types = [schema['type']].flat();
  if (types.includes('object')) return objectOf(schema, { ...at, owner });
  if (types.includes('array'))
    return at.depth > 6 ? [] : [valueOf(schema['items'] ?? {}, { ...at, owner, depth: at.depth + 1 })];
  if (types.includes('integer') || types.includes('number')) return numberOf(schema, at.name);
  if (types.includes('boolean')) return false;
  if (types.includes('string')) return textOf(schema, types, { ...at, owner });
  if (types.includes('null')) return null;
  return {};
}

/** @param {Schema} schema @param {At} at */
function objectOf(schema, at) {
  const properties = /** @type {Record<string, Schema>} */ (schema['properties'] ?? {});
  if (at.depth > 6) return {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      name === 'next_cursor' && isNullable(at.resolve(property))
        ? null
        : valueOf(property, { ...at, name, depth: at.depth + 1 }),
    ]),
  );
}

/** @param {Schema} schema */
function isNullable({ type, anyOf }) {
  return [type].flat().includes('null') || (anyOf ?? []).some((/** @type {Schema} */ one) => one['type'] === 'null');
}

/** @param {Schema} schema @param {string} name */
function numberOf({ minimum = -Infinity, maximum = Infinity }, name) {
  return Math.min(maximum, Math.max(minimum, NUMBERS[name] ?? 1));
}

/** @param {Schema} schema @param {unknown[]} types @param {At} at */
function textOf({ format, pattern, maxLength = Infinity }, types, { name, owner }) {
  const text = candidate(format, name, owner);
  const isRight = text.length <= maxLength && (pattern === undefined || new RegExp(pattern, 'u').test(text));
  if (isRight) return text;
  return types.includes('null') ? null : text.slice(0, maxLength);
}

/** @param {unknown} format @param {string} name @param {string} owner */
function candidate(format, name, owner) {
  if (format === 'date-time' || /(^|_)(since|at|until|timestamp)$/.test(name)) return AT;
  if (format === 'uri') return 'https://gateway.example/';
  if (name === 'id') return `${OWNERS.find(([pattern]) => pattern.test(owner))?.[1] ?? 'rcp'}_${ULID}`;
  const prefix = PREFIXES[name.replace(/_id$/, '')];
  if (prefix !== undefined && (name.endsWith('_id') || name === 'refund_of')) return `${prefix}_${ULID}`;
  if (TEXTS[name] === undefined && name.endsWith('_url')) return 'https://gateway.example/';
  return TEXTS[name] ?? (name === '' ? 'text' : name.replaceAll('_', ' '));
}
