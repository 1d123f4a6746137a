import type { ReadValue } from '#outgoing';
import { tashkentDateTime } from '#fiscal-domain';
import { isBasicCaller } from '../basic-auth.js';
import {
  objectBody,
  type InboundAnswer,
  type InboundReading,
  type InboundRequest,
  type InboundTransaction,
} from '../inbound.js';
import { operationId } from '../operation-id.js';
import {
  integerAt,
  isObject,
  objectAt,
  parseWithLongNumbers,
  tashkentTimeMs,
  textAt,
  type WireObject,
} from '../wire.js';

/** The codes of a public client: Paynet publishes none. */
const CODES = {
  method: -32601,
  parse: -32700,
  request: -32600,
  params: -32602,
  system: -32603,
  kept: 77,
  exists: 201,
  cancelled: 202,
  unknown: 203,
  client: 302,
  service: 305,
  login: 412,
  amount: 413,
  date: 414,
  prohibited: 501,
} as const;
export type PaynetFault = keyof typeof CODES;

export function paynetError(request: InboundRequest, fault: PaynetFault): InboundAnswer {
  const error = { code: CODES[fault], message: fault };
  return { status: fault === 'login' ? 401 : 200, body: { jsonrpc: '2.0', id: idOf(request), error } };
}

export function paynetResult(request: InboundRequest, result: WireObject): InboundAnswer {
  return { status: 200, body: { jsonrpc: '2.0', id: idOf(request), result } };
}

/** JSON-RPC has it back as it came, a number or a text. */
function idOf(request: InboundRequest): number | string | null {
  const body = objectBody(request.body) ?? {};
  return typeof body['id'] === 'string' ? body['id'] : integerAt(body, 'id');
}

/** Our number of a transaction, which Paynet wants whole: the same for the same transaction. */
export function paynetNumber(transactionId: string): number {
  return Number.parseInt(operationId('paynet', transactionId).replaceAll('-', '').slice(0, 12), 16);
}

export function isPaynetCaller(authorization: string | undefined, read: ReadValue): boolean {
  return isBasicCaller(authorization, read('login'), [read('password')]);
}

export function readPaynetCall(request: InboundRequest, read: ReadValue): InboundReading {
  const refused = (fault: PaynetFault): InboundReading => ({ kind: 'answered', answer: paynetError(request, fault) });
  if (!isPaynetCaller(request.authorization, read) || !request.isKnownSource) return refused('login');
  const body = parseWithLongNumbers(request.body);
  if (!isObject(body)) return refused('parse');
  const { method } = body;
  if (typeof method !== 'string' || !isObject(body['params'])) return refused('request');
  const params = body['params'];
  if (request.operation !== '' || !METHODS.has(method)) return refused('method');
  const serviceId = textAt(params, 'serviceId');
  if (serviceId === null) return refused('params');
  if (serviceId !== read('service_id')) return refused('service');
  if (method === 'GetStatement') return statement(request, params) ?? refused('date');
  return command(method, params, read) ?? refused('params');
}

const METHODS: ReadonlySet<string> = new Set([
  ...['GetInformation', 'PerformTransaction', 'CheckTransaction', 'CancelTransaction', 'GetStatement'],
]);

function command(method: string, params: WireObject, read: ReadValue): InboundReading | null {
  const transactionId = textAt(params, 'transactionId');
  const isNamed = transactionId !== null && /^\d{1,20}$/.test(transactionId);
  const amountTiyin = integerAt(params, 'amount');
  if (method !== 'GetInformation' && !isNamed) return null;
  if (method === 'PerformTransaction' && (amountTiyin === null || amountTiyin <= 0)) return null;
  const names = method === 'GetInformation' || method === 'PerformTransaction';
  if (names && !isObject(params['fields'])) return null;
  return {
    kind: 'command',
    command: {
      operation: method,
      ourRef: names ? textAt(objectAt(params, 'fields'), read('account_field')) : null,
      transactionId: method === 'GetInformation' ? null : transactionId,
      amountTiyin: method === 'PerformTransaction' ? amountTiyin : null,
      ...{ timeMs: null, evidence: null },
    },
  };
}

function statement(request: InboundRequest, params: WireObject): InboundReading | null {
  const fromMs = tashkentTimeMs(textAt(params, 'dateFrom'));
  const toMs = tashkentTimeMs(textAt(params, 'dateTo'));
  if (fromMs === null || toMs === null || toMs < fromMs) return null;
  const answer = (entries: readonly InboundTransaction[]): InboundAnswer =>
    withNumbers(paynetResult(request, { statements: entries.filter(({ state }) => state === 2).map(entryOf) }));
  return { kind: 'statement', fromMs, toMs, answer };
}

function entryOf({ id, amountTiyin, performTimeMs }: InboundTransaction): WireObject {
  const timestamp = tashkentDateTime(performTimeMs);
  return { amount: amountTiyin, providerTrnId: paynetNumber(id), transactionId: id, timestamp };
}

/** Their ids are numbers of up to twenty digits, which JSON can write and our numbers cannot hold. */
function withNumbers({ status, body }: InboundAnswer): InboundAnswer {
  const text = JSON.stringify(body).replaceAll(/"transactionId":"(0|[1-9]\d{0,19})"/g, '"transactionId":$1');
  return { status, body: text, contentType: 'application/json; charset=utf-8' };
}
