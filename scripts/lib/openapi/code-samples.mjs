import { resolverOf } from './references.mjs';

/** @typedef {import('./references.mjs').Schema} Schema */
/**
 * One operation, with what an example fills in.
 * @typedef {{ method: string, path: string, template: string, names: Record<string, string>, query: Record<string, string>,
 *   body: unknown, raw: { type: string, text: string } | null, key: string | null, kind: 'json' | 'list' | 'file' }} Call
 */
/** @typedef {{ curl: string, node: string, python: string, php: string }} Samples */

/** Ids begin with what they name. */
const IDS = {
  receipts: 'rcp_01',
  devices: 'dev_01',
  payments: 'pay_01',
  settlements: 'stl_01',
  clients: 'cli_01',
  branches: 'brn_01',
  cashiers: 'csh_01',
  groups: 'grp_01',
  webhooks: 'whk_01',
  attempts: 'att_01',
  'message-accounts': 'mac_01',
  suppressions: 'sup_01',
};

const FILTERS = { '/v1/reports/turnover': { by: 'day' }, '/v1/webhooks/callbacks': { receipt_id: 'rcp_01' } };
/** The number of the sale in the caller's own system. */
const KEYS = {
  '/v1/receipts': 'sale-1001',
  '/v1/receipts/{id}/refunds': 'refund-1001',
  '/v1/payments': 'order-1001',
};

/**
 * An example in four languages for each operation below /v1, by method and path. Where providers call is not for clients.
 * @param {Schema} description
 * @returns {Record<string, Samples>}
 */
export function codeSamples(description) {
  /** @type {Record<string, Samples>} */
  const samples = {};
  const resolve = resolverOf(description);
  for (const [template, methods] of Object.entries(description['paths'])) {
    if (!template.startsWith('/v1/') || template.startsWith('/v1/providers/')) continue;
    for (const [method, operation] of Object.entries(/** @type {Schema} */ (methods))) {
      const call = callOf({ template, method: method.toUpperCase(), operation }, resolve);
      samples[`${call.method} ${template}`] = {
        curl: curl(call),
        node: node(call),
        python: python(call),
        php: php(call),
      };
    }
  }
  return samples;
}

/**
 * @param {{ template: string, method: string, operation: Schema }} one
 * @param {(schema: Schema) => Schema} resolve
 * @returns {Call}
 */
function callOf({ template, method, operation }, resolve) {
  const names = namesOf(template);
  const path = template.replace(/\{(\w+)\}/g, (_whole, name) => names[name] ?? name);
  const [type, content] = Object.entries(operation['requestBody']?.content ?? {})[0] ?? [];
  const isJson = type === 'application/json';
  // The example that the description shows beside it.
  const body = isJson ? /** @type {Schema} */ (content)['example'] : undefined;
  const raw = type !== undefined && !isJson ? { type: 'text/csv', text: 'sku,name,spic,package_code\n' } : null;
  const query = /** @type {Record<string, Record<string, string>>} */ (FILTERS)[template] ?? {};
  const key = method === 'POST' ? (/** @type {Record<string, string>} */ (KEYS)[template] ?? null) : null;
  return { method, path, template, names, query, body, raw, key, kind: kindOf(operation, resolve) };
}

/** @param {string} template */
function namesOf(template) {
  const steps = template.split('/');
  /** @type {Record<string, string>} */
  const names = {};
  for (const [at, step] of steps.entries()) {
    const name = /^\{(\w+)\}$/.exec(step)?.[1];
    if (name === undefined) continue;
    const owner = steps[at - 1] ?? '';
    const known = /** @type {Record<string, string>} */ ({ sku: 'non-1', spic: '01905001001000001', key: 'key_01' });
    names[name] = known[name] ?? /** @type {Record<string, string>} */ (IDS)[owner] ?? 'id_01';
  }
  return names;
}

/**
 * @param {Schema} operation
 * @param {(schema: Schema) => Schema} resolve
 * @returns {Call['kind']}
 */
function kindOf(operation, resolve) {
  const content = operation['responses']['200']?.content;
  if (content === undefined) return 'json';
  const json = content['application/json'];
  if (json === undefined) return 'file';
  const properties = resolve(json['schema'] ?? {})['properties'] ?? {};
  return 'data' in properties && 'next_cursor' in properties ? 'list' : 'json';
}

/** @param {Call} call */
function addressOf({ path, query }) {
  const text = new URLSearchParams(query).toString();
  return path + (text === '' ? '' : `?${text}`);
}

/** @param {Call} call */
function headersOf({ body, raw, key }) {
  const type = body === undefined ? raw?.type : 'application/json';
  return [...(type === undefined ? [] : [['Content-Type', type]]), ...(key === null ? [] : [['Idempotency-Key', key]])];
}

/** @param {Call} call */
function curl(call) {
  const method = call.method === 'GET' ? '' : `-X ${call.method} `;
  const headers = headersOf(call).map(([name, value]) => `-H '${name}: ${value}'`);
  const text = call.body === undefined ? call.raw?.text : JSON.stringify(call.body, null, 2);
  const data = text === undefined ? [] : [`--data-binary '${text.replaceAll("'", "'\\''")}'`];
  const lines = [
    `curl ${method}"$GATEWAY_URL${addressOf(call)}"`,
    `-H "Authorization: Bearer $TOKEN"`,
    ...headers,
    ...data,
  ];
  return lines.join(' \\\n  ');
}

/** @param {Call} call */
function node(call) {
  const { method, template, names, query, body, raw, key, kind } = call;
  const place = {
    ...(Object.keys(names).length > 0 && { path: names }),
    ...(Object.keys(query).length > 0 && { query }),
    ...(body !== undefined && { body }),
  };
  const given = javascript(place);
  const options = key === null ? '' : `, { idempotencyKey: '${key}' }`;
  return `import { FiscalGateway } from '@fiscal-gateway/sdk';

const { GATEWAY_URL = '', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env;
const fgw = new FiscalGateway({
  baseUrl: GATEWAY_URL,
  credentials: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
});

${nodeCall({ method, template, given, options, raw, kind })}`;
}

/** @param {{ method: string, template: string, given: string, options: string, raw: Call['raw'], kind: Call['kind'] }} call */
function nodeCall({ method, template, given, options, raw, kind }) {
  if (raw !== null) {
    const file = javascript({ content: raw.text, contentType: raw.type });
    return `console.log(await fgw.upload('${template}', ${file}));`;
  }
  if (kind === 'list') return `for await (const one of fgw.list('${template}', ${given})) console.log(one);`;
  if (kind === 'file')
    return `const file = await fgw.download('${template}', ${given});\nconsole.log(await file.text());`;
  return `console.log(await fgw.request('${method}', '${template}', ${given}${options}));`;
}

/** @param {unknown} value @returns {string} as people write it: names without quotes, single quotes */
function javascript(value) {
  return JSON.stringify(value, null, 2)
    .replace(/^(\s*)"(\w+)":/gm, '$1$2:')
    .replace(/"((?:[^"\\]|\\.)*)"/g, (_whole, text) => `'${String(text).replaceAll("'", "\\'")}'`);
}

/** @param {Call} call */
function python(call) {
  const { method, body, raw, kind } = call;
  const headers = headersOf(call).map(([name, value]) => `        "${name}": "${value}",\n`);
  const data = body === undefined ? raw && JSON.stringify(raw.text) + '.encode()' : 'json.dumps(body).encode()';
  const given = body === undefined ? '' : `body = ${literal(body, PYTHON)}\n`;
  const sent = data === null ? '' : `    data=${data},\n`;
  const read = kind === 'file' ? 'response.read()' : 'response.read().decode()';
  const json = body === undefined ? '' : 'import json\n';
  return `${json}import os
import urllib.request

${given}request = urllib.request.Request(
    os.environ["GATEWAY_URL"] + "${addressOf(call)}",
${sent}    method="${method}",
    headers={
        "Authorization": "Bearer " + os.environ["TOKEN"],
${headers.join('')}    },
)
with urllib.request.urlopen(request) as response:
    print(response.status, ${read})`;
}

/** @param {Call} call */
function php(call) {
  const { method, body, raw } = call;
  const headers = headersOf(call).map(([name, value]) => `        '${name}: ${value}',\n`);
  const data = body === undefined ? raw && JSON.stringify(raw.text) : 'json_encode($body)';
  const given = body === undefined ? '' : `$body = ${literal(body, PHP)};\n`;
  const sent = data === null ? '' : `    CURLOPT_POSTFIELDS => ${data},\n`;
  return `<?php
${given}$curl = curl_init(getenv('GATEWAY_URL') . '${addressOf(call)}');
curl_setopt_array($curl, [
    CURLOPT_CUSTOMREQUEST => '${method}',
${sent}    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ' . getenv('TOKEN'),
${headers.join('')}    ],
    CURLOPT_RETURNTRANSFER => true,
]);
$answer = curl_exec($curl);
echo curl_getinfo($curl, CURLINFO_RESPONSE_CODE), ' ', $answer, "\\n";`;
}

/** @typedef {{ open: [string, string], pair: string, words: Record<string, string> }} Language */
/** @type {Language} */
const PYTHON = { open: ['{', '}'], pair: ': ', words: { true: 'True', false: 'False', null: 'None' } };
/** @type {Language} */
const PHP = { open: ['[', ']'], pair: ' => ', words: { true: 'true', false: 'false', null: 'null' } };

/**
 * JSON as another language writes it.
 * @param {unknown} value
 * @param {Language} language
 * @param {string} [indent]
 * @returns {string}
 */
function literal(value, language, indent = '') {
  const inner = `${indent}    `;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((one) => `${inner}${literal(one, language, inner)},\n`).join('')}${indent}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const [begin, end] = language.open;
    const entries = Object.entries(value);
    // PHP's empty array would become a list.
    if (entries.length === 0) return language === PHP ? '(object) []' : '{}';
    const lines = entries.map(([name, one]) => `${inner}"${name}"${language.pair}${literal(one, language, inner)},\n`);
    return `${begin}\n${lines.join('')}${indent}${end}`;
  }
  return typeof value === 'string' ? JSON.stringify(value) : (language.words[String(value)] ?? String(value));
}
