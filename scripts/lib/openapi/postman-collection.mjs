import { createRequire } from 'node:module';
import { promisify } from 'node:util';

import { exampleBody } from './example-bodies.mjs';
import { answersAsDescribed, FETCH_TOKEN, KEEP_IDS, SUCCEEDS, UNTIL_FINAL } from './postman-scripts.mjs';
import { resolverOf } from './references.mjs';

/** @typedef {import('./example-bodies.mjs').Schema} Schema */
/** @typedef {{ operationId: string, method: string, path: string, operation: Schema }} Operation */
/**
 * @typedef {{ name: string, item?: Item[], request?: Schema, response?: unknown, event?: unknown[], id?: string,
 *   description?: unknown, protocolProfileBehavior?: unknown }} Item
 */

const require = createRequire(import.meta.url);
const { convertV2 } = require('openapi-to-postmanv2');
const convert = promisify(convertV2);

/** @type {import('openapi-to-postmanv2').Options} */
const OPTIONS = { folderStrategy: 'Tags', requestNameSource: 'Fallback', keepImplicitHeaders: false };

/** Filled in by the user of the collection; the ids come from the answers. */
const VARIABLES = {
  base_url: 'http://127.0.0.1:8080',
  client_id: '',
  client_secret: '',
  cashier_id: 'cashier-1',
  product_name: 'Non',
  spic: '01905001001000001',
  sku: 'non-1',
  webhook_url: 'https://shop.example/hook',
  register_api_key: '',
  sms_password: '',
};

/**
 * From a sale to its refund, in this order; the scripts demand success.
 * @type {[operationId: string, scripts: string[]][]}
 */
const TOUR = [
  ['receiptDrafts_validate', []],
  ['receipts_create', []],
  ['receipts_read', [UNTIL_FINAL]],
  ['search_list', []],
  ['refunds_create', []],
  ['refunds_list', []],
  ['timeline_read', []],
  ['events_list', []],
  ['reports_turnover', []],
];

/** Of whom a name in a path is the id, by what stands before it. */
const PATH_VARIABLES = {
  '/v1/receipts/{id}': 'receipt_id',
  '/v1/payments/{id}': 'payment_id',
  '/v1/devices/{id}': 'device_id',
  '/v1/branches/{id}': 'branch_id',
  '/v1/cashiers/{id}': 'cashier_id',
  '/v1/groups/{id}': 'group_id',
  '/v1/clients/{id}': 'client_id_shown',
  '/v1/webhooks/{id}': 'webhook_id',
  '/v1/catalog/syncs/{id}': 'sync_id',
  '/v1/catalog/imports/{id}': 'import_id',
  '/v1/settlements/{id}': 'settlement_id',
  '/v1/operator/attempts/{id}': 'attempt_id',
  '/v1/message-accounts/{id}': 'message_account_id',
  '/v1/suppressions/{id}': 'suppression_id',
};
/** Queries without which there is no answer. */
const QUERY_VALUES = { by: 'day', receipt_id: '{{receipt_id}}' };

/**
 * docs/postman.json from docs/openapi.json: the same requests in the same folders, with bodies worth sending, a token
 * fetched by itself, and a test for each that its answer is one of those described.
 * @param {Schema} description
 */
export async function postmanCollection(description) {
  const operations = operationsOf(description);
  const made = await convert({ type: 'json', data: bareDescription(description) }, OPTIONS);
  if (made?.result !== true) throw new Error(`openapi-to-postmanv2: ${made?.reason}`);
  const folders = /** @type {Item[]} */ (/** @type {Schema} */ (made.output?.[0]?.data ?? {})['item']);
  const resolve = resolverOf(description);
  const byId = new Map();
  for (const item of folders.flatMap(requestsOf)) {
    const operation = operationOf(item, operations);
    byId.set(operation.operationId, completed(item, operation, resolve));
  }
  return {
    info: {
      name: description['info'].title,
      description:
        'Written from docs/openapi.json by `npm run openapi`. Fill in base_url, client_id and client_secret; `npm start` prints them.',
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{access_token}}', type: 'string' }] },
    event: [script('prerequest', FETCH_TOKEN), script('test', KEEP_IDS)],
    variable: Object.entries(VARIABLES).map(([key, value]) => ({ key, value })),
    item: [tour(byId), ...folders.map((folder) => cleanFolder(folder, byId, operations))],
  };
}

/** @param {Schema} description */
function operationsOf({ paths }) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(/** @type {Schema} */ (methods)).map(([method, operation]) => ({
      operationId: operation.operationId,
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
}

/**
 * Bodies and answers stay out: the converter would draw random texts by their patterns, for minutes.
 * @param {Schema} description
 */
function bareDescription(description) {
  const bare = structuredClone(description);
  // A request that has no end: Postman would wait for it.
  for (const [path, { get }] of Object.entries(bare['paths'])) {
    if (get?.responses?.[200]?.content?.['text/event-stream']) delete bare['paths'][path];
  }
  for (const { operation } of operationsOf(bare)) {
    operation['responses'] = { 200: { description: 'See docs/openapi.json.' } };
    for (const content of Object.values(operation['requestBody']?.content ?? {})) content.schema = { type: 'object' };
    for (const parameter of operation['parameters'] ?? []) delete parameter.schema?.pattern;
  }
  delete bare['components'].schemas;
  delete bare['components'].responses;
  return bare;
}

/**
 * @param {Item} item
 * @returns {Item[]}
 */
function requestsOf(item) {
  return item.item ? item.item.flatMap(requestsOf) : [item];
}

/**
 * @param {Item} item
 * @param {Operation[]} operations
 */
function operationOf({ request, name }, operations) {
  const path = `/${request?.['url'].path.join('/')}`.replace(/:(\w+)/g, '{$1}');
  const found = operations.find((one) => one.method === request?.['method'] && one.path === path);
  if (found === undefined) throw new Error(`No operation for the request ${name} ${path}`);
  return found;
}

/**
 * @param {Item} item
 * @param {Operation} operation
 * @param {(schema: Schema) => Schema} resolve
 * @returns {Item}
 */
function completed({ name, request: converted = {} }, { operationId, path, operation }, resolve) {
  const { method, description, header = [], body, url } = converted;
  const statuses = Object.keys(operation['responses'])
    .map(Number)
    .filter((one) => one !== 500);
  /** @type {Schema} */
  const request = { method, header: header.map((/** @type {Schema} */ one) => headerValue(one)), url: { ...url } };
  if (description?.content) request['description'] = description.content;
  request['url'] = urlOf(url, path, operation);
  const [type, content] = Object.entries(operation['requestBody']?.content ?? {})[0] ?? [];
  if (body && content)
    request['body'] = bodyOf(/** @type {string} */ (type), exampleBody(operationId, content, resolve));
  const auth = authOf(operation);
  if (auth !== null) request['auth'] = auth;
  // What answers with the way to a page is described, and not that page.
  const behaviour = statuses.includes(303) ? { protocolProfileBehavior: { followRedirects: false } } : {};
  return { name, event: [script('test', answersAsDescribed(statuses))], request, ...behaviour };
}

/** @param {Schema} header */
function headerValue({ key, value, description, disabled }) {
  if (key === 'Idempotency-Key') return { key, value: '{{$guid}}', description: description?.content };
  if (key === 'Prefer') return { key, value: 'wait=10', disabled: true, description: description?.content };
  return {
    key,
    value,
    ...(disabled && { disabled }),
    ...(description?.content && { description: description.content }),
  };
}

/**
 * @param {Schema} converted
 * @param {string} path
 * @param {Schema} operation
 */
function urlOf({ path: steps, query = [], variable = [] }, path, { parameters = [] }) {
  const owner = Object.entries(PATH_VARIABLES).find(([begin]) => path.startsWith(begin));
  /** @param {Schema} one */
  const pathVariable = ({ key }) => ({ key, value: key === 'id' && owner ? `{{${owner[1]}}}` : `{{${key}}}` });
  /** @param {Schema} one */
  const queryVariable = ({ key, description }) => ({
    key,
    value: /** @type {Record<string, string>} */ (QUERY_VALUES)[key] ?? '',
    ...(!parameters.some((/** @type {Schema} */ one) => one.name === key && one.required) && { disabled: true }),
    ...(description?.content && { description: description.content }),
  });
  return {
    host: ['{{base_url}}'],
    path: steps,
    ...(query.length > 0 && { query: query.map(queryVariable) }),
    ...(variable.length > 0 && { variable: variable.map(pathVariable) }),
  };
}

/**
 * @param {string} type
 * @param {unknown} value
 */
function bodyOf(type, value) {
  if (type === 'application/x-www-form-urlencoded') {
    const pairs = Object.entries(/** @type {Record<string, string>} */ (value));
    return { mode: 'urlencoded', urlencoded: pairs.map(([key, text]) => ({ key, value: text })) };
  }
  return { mode: 'raw', raw: JSON.stringify(value, null, 2), options: { raw: { language: 'json' } } };
}

/** @param {Schema} operation null: as the collection */
function authOf({ security, tags }) {
  if (security === undefined || security.some((/** @type {Schema} */ one) => 'oauth2' in one)) return null;
  if (!tags.includes('oauth') || security.length === 0) return { type: 'noauth' };
  const basic = [
    { key: 'username', value: '{{client_id}}', type: 'string' },
    { key: 'password', value: '{{client_secret}}', type: 'string' },
  ];
  return { type: 'basic', basic };
}

/** @param {Map<string, Item>} byId */
function tour(byId) {
  const item = TOUR.map(([operationId, more]) => {
    const found = byId.get(operationId);
    if (found === undefined) throw new Error(`The tour of the Postman collection needs ${operationId}`);
    const scripts = [SUCCEEDS, ...more].map((text) => script('test', text));
    // Asked for again by its name, which stands in its own folder too.
    return { ...found, name: `Tour: ${found.name}`, event: [...(found.event ?? []), ...scripts] };
  });
  return { name: 'Quick tour', description: 'From a sale to its refund.', item };
}

/**
 * @param {Item} folder
 * @param {Map<string, Item>} byId
 * @param {Operation[]} operations
 * @returns {Item}
 */
function cleanFolder(folder, byId, operations) {
  const items = requestsOf(folder).map((one) => byId.get(operationOf(one, operations).operationId));
  // Run from the top, a folder takes away last what it has made.
  const rank = (/** @type {Item | undefined} */ item) => (item?.request?.['method'] === 'DELETE' ? 1 : 0);
  const item = /** @type {Item[]} */ (items).sort((left, right) => rank(left) - rank(right));
  return { name: folder.name, item };
}

/**
 * @param {'prerequest' | 'test'} listen
 * @param {string} text
 */
function script(listen, text) {
  return { listen, script: { type: 'text/javascript', exec: text.trim().split('\n') } };
}
