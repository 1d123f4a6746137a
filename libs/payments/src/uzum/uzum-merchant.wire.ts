import type { ReadValue } from '#outgoing';
import { isBasicCaller } from '../basic-auth.js';
import { objectBody, type InboundAnswer, type InboundReading, type InboundRequest } from '../inbound.js';
import { isUuid } from '../operation-id.js';
import type { PaymentEvidence } from '../port.js';
import { integerAt, isObject, objectAt, rrnOf, textAt, type WireObject } from '../wire.js';
import { uzumCardType } from './uzum-checkout.transform.js';

/** Uzum's Merchant API: five calls of Uzum's, distinguished by their path. */
export const UZUM_OPERATIONS = ['check', 'create', 'confirm', 'reverse', 'status'] as const;
export type UzumOperation = (typeof UZUM_OPERATIONS)[number];

/** The published list. */
const CODES = {
  access: '10001',
  json: '10002',
  operation: '10003',
  missing: '10005',
  service: '10006',
  attribute: '10007',
  paid: '10008',
  closed: '10009',
  created: '10010',
  amount: '10011',
  unknown: '10014',
  cancelled: '10015',
  confirmed: '10016',
  kept: '10017',
  reversed: '10018',
  internal: '99999',
} as const;
export type UzumFault = keyof typeof CODES;

/** What every answer names, also one to a call that could not be read. */
export interface UzumAbout {
  serviceId: number;
  transId: string | null;
  nowMs: number;
}

export function uzumFailed(fault: UzumFault, { serviceId, transId, nowMs }: UzumAbout): InboundAnswer {
  const body = {
    ...{ serviceId, ...(transId !== null && { transId }) },
    ...{ timestamp: nowMs, status: 'FAILED', errorCode: CODES[fault] },
  };
  return { status: 400, body };
}

/** Neither done nor failed: Uzum asks for the status of what was not answered. */
export function uzumUnanswered({ serviceId, transId, nowMs }: UzumAbout): InboundAnswer {
  const named = { serviceId, ...(transId !== null && { transId }) };
  return { status: 503, body: { ...named, timestamp: nowMs, errorCode: CODES.internal } };
}

/** False for an account that is not set up for the Merchant API. */
export function isUzumMerchantCaller(authorization: string | undefined, read: ReadValue): boolean {
  const password = read('merchant_password');
  return isBasicCaller(authorization, read('merchant_login'), [password]) && password !== '';
}

export function readUzumCall(request: InboundRequest, read: ReadValue): InboundReading {
  const body = objectBody(request.body);
  const about = aboutCall(request, read);
  const failed = (fault: UzumFault, status = 400): InboundReading => ({
    kind: 'answered',
    answer: { ...uzumFailed(fault, about), status },
  });
  const isCaller = isUzumMerchantCaller(request.authorization, read);
  if (!isCaller || !request.isKnownSource) return failed('access', Number(read('auth_status')));
  const operation = UZUM_OPERATIONS.find((name) => name === request.operation);
  if (request.method !== 'POST' || !operation) return failed('operation');
  if (!body) return failed('json');
  const serviceId = integerAt(body, 'serviceId');
  if (serviceId === null || integerAt(body, 'timestamp') === null) return failed('missing');
  if (String(serviceId) !== read('merchant_service_id')) return failed('service');
  return command(operation, body, read) ?? failed('missing');
}

function command(operation: UzumOperation, body: WireObject, read: ReadValue): InboundReading | null {
  const transId = textAt(body, 'transId');
  const isNamed = transId !== null && isUuid(transId);
  const amountTiyin = integerAt(body, 'amount');
  if (operation !== 'check' && !isNamed) return null;
  if (operation === 'create' && (amountTiyin === null || amountTiyin <= 0)) return null;
  const named = operation === 'check' || operation === 'create';
  if (named && !isObject(body['params'])) return null;
  return {
    kind: 'command',
    command: {
      operation,
      ourRef: named ? textAt(objectAt(body, 'params'), read('account_param')) : null,
      transactionId: operation === 'check' ? null : transId,
      amountTiyin: operation === 'create' ? amountTiyin : null,
      timeMs: null,
      evidence: operation === 'confirm' ? evidenceOf(body) : null,
    },
  };
}

function evidenceOf(body: WireObject): PaymentEvidence {
  const phone = textAt(body, 'phone');
  return {
    phone: phone !== null && /^998\d{9}$/.test(phone) ? phone : null,
    rrn: rrnOf(textAt(body, 'processingReferenceNumber')),
    cardType: uzumCardType(integerAt(body, 'cardType')),
  };
}

export function aboutCall(request: InboundRequest, read: ReadValue): UzumAbout {
  const body = objectBody(request.body) ?? {};
  const serviceId = integerAt(body, 'serviceId') ?? Number(read('merchant_service_id'));
  return { serviceId, transId: textAt(body, 'transId')?.slice(0, 64) ?? null, nowMs: Date.now() };
}
