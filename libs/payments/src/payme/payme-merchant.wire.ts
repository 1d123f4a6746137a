import type { ReadValue } from '#outgoing';
import { isBasicCaller } from '../basic-auth.js';
import { integerAt, isObject, objectAt, textAt, type WireObject } from '../wire.js';

/** Payme's Merchant API as it arrives. Every answer is HTTP 200. */
export const PAYME_METHODS = [
  'CheckPerformTransaction',
  'CreateTransaction',
  'PerformTransaction',
  'CancelTransaction',
  'CheckTransaction',
  'GetStatement',
  'SetFiscalData',
] as const;
export type PaymeMethod = (typeof PAYME_METHODS)[number];

export type PaymeCommand =
  | { method: 'CheckPerformTransaction'; amountTiyin: number; account: string | null }
  | { method: 'CreateTransaction'; id: string; timeMs: number; amountTiyin: number; account: string | null }
  | { method: 'PerformTransaction' | 'CheckTransaction'; id: string }
  | { method: 'CancelTransaction'; id: string; reason: number }
  | { method: 'GetStatement'; fromMs: number; toMs: number }
  | { method: 'SetFiscalData'; id: string; type: 'PERFORM' | 'CANCEL'; fiscalData: WireObject };

export type PaymeId = number | string | null;
export type PaymeReading =
  | { kind: 'command'; id: PaymeId; command: PaymeCommand }
  | { kind: 'fault'; id: PaymeId; error: PaymeError };

export interface PaymeError {
  code: number;
  message: { ru: string; uz: string; en: string };
  data: string | null;
}

/** Code, and what it is called in Russian, Uzbek and English. */
const FAULTS = {
  system: [-32400, 'Внутренняя ошибка', 'Ichki xato', 'Internal error'],
  parse: [-32700, 'Тело запроса не JSON', 'So‘rov JSON emas', 'The body is not JSON'],
  request: [-32600, 'Неверный запрос', 'So‘rov noto‘g‘ri', 'Invalid request'],
  method: [-32601, 'Метод не найден', 'Metod topilmadi', 'Method not found'],
  notPost: [-32300, 'Нужен метод POST', 'POST metodi kerak', 'POST is needed'],
  privilege: [-32504, 'Недостаточно привилегий', 'Ruxsat yetarli emas', 'Insufficient privilege'],
  amount: [-31001, 'Неверная сумма', 'Summa noto‘g‘ri', 'Wrong amount'],
  transaction: [-31003, 'Транзакция не найдена', 'Tranzaksiya topilmadi', 'Transaction not found'],
  delivered: [
    -31007,
    'Заказ выполнен, отмена невозможна',
    'Buyurtma bajarilgan, bekor qilib bo‘lmaydi',
    'The order is complete and cannot be cancelled',
  ],
  impossible: [
    -31008,
    'Невозможно выполнить операцию',
    'Amalni bajarib bo‘lmaydi',
    'The operation cannot be performed',
  ],
  account: [-31050, 'Заказ не найден', 'Buyurtma topilmadi', 'Order not found'],
  paid: [-31051, 'Заказ уже оплачен', 'Buyurtma to‘langan', 'The order is already paid'],
  fiscalReceipt: [-32001, 'Чек не найден', 'Chek topilmadi', 'Receipt not found'],
  params: [-32602, 'Неверные параметры', 'Parametrlar noto‘g‘ri', 'Wrong parameters'],
} as const;

export type PaymeFault = keyof typeof FAULTS;

export function paymeError(fault: PaymeFault, data: string | null = null): PaymeError {
  const [code, ru, uz, en] = FAULTS[fault];
  // Of -32602 the documents want the parameter's name in the message.
  const named = fault === 'params' && data !== null ? `: ${data}` : '';
  return { code, message: { ru: ru + named, uz: uz + named, en: en + named }, data };
}

/** Exactly one of result and error, and the caller's own id. */
export function paymeAnswer(id: PaymeId, answer: { result: unknown } | { error: PaymeError }): WireObject {
  return { jsonrpc: '2.0', id, ...answer };
}

/** By any key: the account's own, or the sandbox's. */
export function isPaymeCaller(authorization: string | undefined, read: ReadValue): boolean {
  const keys = [read('key'), read('test_key')].filter((key) => key !== '');
  return isBasicCaller(authorization, read('login'), keys);
}

/** @param accountField the field by which this cashbox names an order */
export function readPaymeRequest(body: string, accountField: string): PaymeReading {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // The protocol has its own answer for this.
    return { kind: 'fault', id: null, error: paymeError('parse') };
  }
  const id = readId(parsed);
  if (!isObject(parsed) || typeof parsed['method'] !== 'string')
    return { kind: 'fault', id, error: paymeError('request') };
  const { method } = parsed;
  const known = PAYME_METHODS.find((name) => name === method);
  if (known === undefined) return { kind: 'fault', id, error: paymeError('method', method.slice(0, 64)) };
  if (!isObject(parsed['params'])) return { kind: 'fault', id, error: paymeError('request') };
  const command = READERS[known](parsed['params'], accountField);
  if (command) return { kind: 'command', id, command };
  const error = known === 'SetFiscalData' ? wrongFiscalParameter(parsed['params']) : paymeError('request');
  return { kind: 'fault', id, error };
}

function wrongFiscalParameter(params: WireObject): PaymeError {
  const isId = ID.test(textAt(params, 'id') ?? '');
  const name = isId ? (isFiscalType(params['type']) ? 'fiscal_data' : 'type') : 'id';
  return paymeError('params', name);
}

function isFiscalType(value: unknown): value is 'PERFORM' | 'CANCEL' {
  return value === 'PERFORM' || value === 'CANCEL';
}

function readId(parsed: unknown): PaymeId {
  if (!isObject(parsed)) return null;
  const { id } = parsed;
  return typeof id === 'number' || typeof id === 'string' ? id : null;
}

const READERS: Readonly<Record<PaymeMethod, (params: WireObject, field: string) => PaymeCommand | null>> = {
  CheckPerformTransaction: (params, field) => {
    const amountTiyin = positive(params, 'amount');
    if (amountTiyin === null) return null;
    return { method: 'CheckPerformTransaction', amountTiyin, account: textAt(objectAt(params, 'account'), field) };
  },
  CreateTransaction: (params, field) => {
    const id = textAt(params, 'id');
    const timeMs = positive(params, 'time');
    const amountTiyin = positive(params, 'amount');
    if (id === null || !ID.test(id) || timeMs === null || amountTiyin === null) return null;
    const account = textAt(objectAt(params, 'account'), field);
    return { method: 'CreateTransaction', id, timeMs, amountTiyin, account };
  },
  PerformTransaction: (params) => withId(params, (id) => ({ method: 'PerformTransaction', id })),
  CheckTransaction: (params) => withId(params, (id) => ({ method: 'CheckTransaction', id })),
  CancelTransaction: (params) =>
    // Without a reason: unknown (10).
    withId(params, (id) => ({ method: 'CancelTransaction', id, reason: smallInteger(params, 'reason') ?? 10 })),
  GetStatement: (params) => {
    const fromMs = integerAt(params, 'from');
    const toMs = integerAt(params, 'to');
    if (fromMs === null || toMs === null || fromMs < 0 || toMs < fromMs) return null;
    return { method: 'GetStatement', fromMs, toMs };
  },
  SetFiscalData: (params) => {
    const id = textAt(params, 'id');
    const type = params['type'];
    const fiscalData = params['fiscal_data'];
    if (id === null || !ID.test(id) || !isFiscalType(type) || !isObject(fiscalData)) return null;
    return { method: 'SetFiscalData', id, type, fiscalData };
  },
};

/** 24 characters as documented; what no database could keep must not get that far. */
const ID = /^[\x21-\x7e]{1,64}$/;

function withId(params: WireObject, make: (id: string) => PaymeCommand): PaymeCommand | null {
  const id = textAt(params, 'id');
  return id !== null && ID.test(id) ? make(id) : null;
}

function positive(params: WireObject, key: string): number | null {
  const value = integerAt(params, key);
  return value !== null && value > 0 ? value : null;
}

function smallInteger(params: WireObject, key: string): number | null {
  const value = integerAt(params, key);
  return value !== null && Math.abs(value) < 32_768 ? value : null;
}
