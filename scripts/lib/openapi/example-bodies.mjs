/** @typedef {Record<string, any>} Schema */

/**
 * Bodies worth sending, by operation. `{{…}}` are variables of the Postman collection. What is not here gets its required
 * fields only.
 * @type {Record<string, unknown>}
 */
const WRITTEN = {
  receipts_create: {
    items: [{ name: '{{product_name}}', price: 1500000, qty: 1 }],
    payment: { method: 'cash' },
    cashier_id: '{{cashier_id}}',
  },
  receiptDrafts_validate: {
    items: [{ name: '{{product_name}}', price: 1500000, qty: '0.5', discount: 50000 }],
    payment: { method: 'card', provider: 'uzcard' },
    cashier_id: '{{cashier_id}}',
  },
  receiptDrafts_batch: {
    receipts: [
      {
        external_id: 'POSTMAN-{{$guid}}',
        items: [{ name: '{{product_name}}', price: 450000, qty: 2 }],
        payment: { method: 'mixed', cash: 400000, card: 500000 },
        cashier_id: '{{cashier_id}}',
      },
    ],
  },
  refunds_create: { lines: [{ line: 1, qty: '0.5' }] },
  payments_create: {
    items: [{ name: '{{product_name}}', price: 1500000, qty: 1 }],
    payment: { method: 'online', provider: 'payme', phone: '998901234567' },
    cashier_id: '{{cashier_id}}',
  },
  catalog_upsert: {
    products: [
      { sku: '{{sku}}', name: 'Non', spic: '{{spic}}', package_code: '1500001', price: 450000, vat_percent: 12 },
    ],
  },
  catalog_change: { name: 'Non' },
  catalog_resolve: { items: [{ name: '{{product_name}}' }] },
  syncs_addPage: { products: [{ sku: '{{sku}}', name: 'Non', spic: '{{spic}}', package_code: '1500001' }] },
  webhooks_create: { url: '{{webhook_url}}', events: ['receipt.*', 'refund.*'], description: 'ERP' },
  webhooks_change: { events: ['receipt.registered'] },
  page_send: { channel: 'email', to: 'anna@example.uz' },
  messages_send: { channel: 'email', to: 'anna@example.uz', language: 'uz' },
  messages_changeTemplate: { channel: 'sms', language: 'uz', text: '{merchant}: {kind} {total}. {link}' },
  messages_preview: { channel: 'sms', language: 'uz', receipt_id: '{{receipt_id}}' },
  messages_addSuppression: { channel: 'sms', address: '+998901234567' },
  messageAccounts_create: {
    provider: 'eskiz',
    settings: { email: 'shop@example.uz', password: '{{sms_password}}', from: '4546' },
  },
  messageAccounts_change: { per_minute: 120 },
  messageAccounts_test: { to: '+998901234567', receipt_id: '{{receipt_id}}' },
  webhooks_recover: { from: '2026-11-22T00:00:00Z', to: '2026-11-22T12:00:00Z' },
  webhooks_replay: { event_id: '{{event_id}}' },
  clients_create: { name: 'erp', scopes: ['receipts:write', 'receipts:read'], ip_policy: 'any' },
  clients_change: { name: 'erp' },
  clientKeys_create: { name: 'erp', algorithm: 'hmac-sha256' },
  branches_create: { code: 'north', name: 'North' },
  branches_change: { name: 'North' },
  cashiers_create: { code: 'cashier-9', name: 'Aziza' },
  cashiers_change: { name: 'Aziza' },
  groups_create: { code: 'upstairs', name: 'Upstairs' },
  groups_change: { name: 'Upstairs' },
  merchant_change: { name: 'Savdo' },
  platformMerchants_create: { code: 'savdo', name: 'Savdo MChJ', tin: '301234567', mode: 'sandbox' },
  platformMerchants_change: { quotas: { receipts_per_day: 10000 } },
  platformMerchants_suspend: { reason: 'the contract has ended' },
  platformInvitations_create: { email: 'owner@savdo.example' },
  platformMerchants_client: { name: 'erp', scopes: ['receipts:write', 'receipts:read'], ip_policy: 'any' },
  devices_register: {
    branch_id: '{{branch_id}}',
    name: 'Till 1',
    base_url: 'http://127.0.0.1:8765',
    api_key: '{{register_api_key}}',
  },
  devices_change: { name: 'Till 1' },
  payments_confirm: { otp: '123456' },
  receiptFiscal_complete: {
    fiscal_sign: '012345678901',
    verification_url: 'https://ofd.soliq.uz/check?t=UZ000000000001&r=7&c=20261122143000&s=012345678901',
    reason: 'read at the OFD',
  },
  operator_resolve: { decision: 'not_registered', reason: 'checked at the register' },
  operatorPayments_document: {
    document: 'sale',
    verification_url: 'https://ofd.soliq.uz/check?t=UZ000000000001&r=7&c=20261122143000&s=012345678901',
    reason: 'seen in the cabinet',
  },
  login_password: { email: 'aziza@shop.example', password: 'correct horse battery staple', code: '492039' },
  login_passkey: { credential: { id: 'what navigator.credentials.get() answered, as JSON' } },
  openInvitation_show: { token: 'what stands behind the # of the link' },
  openInvitation_accept: {
    token: 'what stands behind the # of the link',
    name: 'Aziza',
    password: 'correct horse battery staple',
    code: '492039',
  },
  oidc_start: { return_to: '/console/' },
  stepUp_code: { code: '492039' },
  stepUp_passkey: { credential: { id: 'what navigator.credentials.get() answered, as JSON' } },
  // The verifier and its challenge of RFC 7636, appendix B.
  terminalSession_allow: { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM' },
  terminalLogin_token: {
    code: 'what-the-browser-has-brought',
    code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  },
  me_password: { current: 'correct horse battery staple', new: 'another horse battery staple' },
  me_confirmTotp: { code: '492039' },
  me_join: { token: 'what stands behind the # of the link' },
  passkeys_add: { name: 'Phone', credential: { id: 'what navigator.credentials.create() answered, as JSON' } },
  invitations_create: { email: 'aziza@shop.example', roles: ['accountant'] },
  users_change: { roles: ['accountant'] },
  token_token: { grant_type: 'client_credentials' },
  token_introspect: { token: '{{access_token}}' },
  token_revoke: { token: 'a token to end' },
};

/**
 * @param {string} operationId
 * @param {Schema} content one media type of a request body
 * @param {(schema: Schema) => Schema} resolve follows `$ref`
 * @returns {unknown}
 */
export function exampleBody(operationId, content, resolve) {
  return WRITTEN[operationId] ?? sample(content['schema'] ?? {}, resolve);
}

/** What stands for the variables where there is no collection. */
const VALUES = /** @type {Record<string, string>} */ ({
  product_name: 'Non',
  branch_id: 'main',
  cashier_id: 'cashier-1',
  spic: '01905001001000001',
  sku: 'non-1',
  webhook_url: 'https://shop.example/hook',
  register_api_key: 'the-key-of-the-register',
  event_id: 'evt_01kaey3m5v8q2w7r4t6y9z1b3d',
  receipt_id: 'rcp_01kaey3m5v8q2w7r4t6y9z1b3d',
  access_token: 'a token',
  sms_password: 'password-at-eskiz',
  $guid: '1001',
});

/**
 * @param {unknown} body
 * @returns {unknown}
 */
export function withoutVariables(body) {
  const text = JSON.stringify(body).replace(/\{\{([^}]+)\}\}/g, (_whole, name) => VALUES[name] ?? 'text');
  return JSON.parse(text);
}

/**
 * The smallest value that has the schema's shape; patterns are not solved.
 * @param {Schema} found
 * @param {(schema: Schema) => Schema} resolve
 * @returns {unknown}
 */
function sample(found, resolve) {
  const schema = resolve(found);
  if ('example' in schema) return schema['example'];
  if ('const' in schema) return schema['const'];
  if (schema['enum']) return schema['enum'][0];
  const choices = schema['anyOf'] ?? schema['oneOf'];
  if (choices) return sample(choices[0], resolve);
  const types = [schema['type']].flat();
  if (types.includes('object')) {
    const required = /** @type {string[]} */ (schema['required'] ?? []);
    return Object.fromEntries(required.map((name) => [name, sample(schema['properties']?.[name] ?? {}, resolve)]));
  }
  if (types.includes('array')) return (schema['minItems'] ?? 0) > 0 ? [sample(schema['items'], resolve)] : [];
  if (types.includes('integer') || types.includes('number')) return Math.max(1, schema['minimum'] ?? 1);
  if (types.includes('boolean')) return false;
  return sampleText(schema);
}

/** @param {Schema} schema */
function sampleText({ format, minLength = 1 }) {
  if (format === 'date-time') return '2026-01-01T00:00:00Z';
  if (format === 'uri') return 'https://shop.example/';
  return 'text'.padEnd(minLength, '.');
}
