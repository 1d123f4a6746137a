import { release, type as systemType } from 'node:os';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  FISCAL_FIELDS,
  type FmInfo,
  type LocalBranch,
  type LocalBusiness,
  type LocalStatus,
  type ResendResult,
} from '#fiscal-domain';
import { withReceiptFaults } from '../emulator/receipt-faults.js';
import type { ResendOutcome } from '../ofd/resend.js';
import type { Register } from '../register.js';
import { closeShift } from '../shifts/close-shift.js';
import { currentZReport, zReportStats } from '../shifts/z-report-answers.js';
import { errorBody, httpStatusOf, refusedByModule, type Refusal } from '#fiscal-module';

export const APP_NAME = 'Fiscal cash register';
export const APP_VERSION = '1.0.2';
const MODULE_TYPE = 1;
/** Of a document of the journal. */
const RECEIPT_SEQ = /^[1-9]\d{0,14}$/;
const RECEIPTS = '/receipts/';

const METHODS_BY_PATH: ReadonlyMap<string, string> = new Map([
  ...['/status', '/fm/info', '/business', '/branch'].map((path) => [path, 'GET'] as const),
  ...['/z-report/current', '/z-report/stats'].map((path) => [path, 'GET'] as const),
  ...['/receipts/send-unsent', '/z-report/send-unsent'].map((path) => [path, 'POST'] as const),
  ...['/receipts', '/z-report/open', '/z-report/close'].map((path) => [path, 'POST'] as const),
]);

/** Which methods a path knows, for the Allow header of a wrong one; undefined: the path is none of this API. */
export function methodsOf(path: string, { settings }: Register): string | undefined {
  const known = METHODS_BY_PATH.get(path);
  if (!settings.REGISTER_EXTENSIONS) return known;
  if (path === '/receipts') return 'GET, POST';
  const isDocument = path.startsWith(RECEIPTS) && RECEIPT_SEQ.test(path.slice(RECEIPTS.length));
  return known ?? (isDocument ? 'GET' : undefined);
}

export function addRoutes(server: FastifyInstance, register: Register): void {
  server.get('/status', () => status(register, listeningPort(server)));
  server.get('/fm/info', (_request, reply) => {
    if (register.settings.REGISTER_EXTENSIONS) void reply.header('X-Classifier-Version', register.classifier.version);
    return fmInfo(register);
  });
  server.get('/business', () => business(register));
  server.get('/branch', () => branch(register));
  addReceiptRoutes(server, register);
  addShiftRoutes(server, register);
}

function addReceiptRoutes(server: FastifyInstance, register: Register): void {
  const { settings, journal, receipts } = register;
  server.post('/receipts', (request, reply) =>
    withReceiptFaults(register.faults, { path: '/receipts', request, reply }, async () => {
      const key = settings.REGISTER_EXTENSIONS ? readKey(request) : null;
      if (typeof key === 'object' && key !== null) return { status: httpStatusOf(key.code), body: errorBody(key) };
      const outcome = await receipts.execute(request.body, key);
      if (outcome.kind === 'refused') return { status: httpStatusOf(outcome.code), body: errorBody(outcome) };
      if (outcome.replayed) reply.header('Idempotency-Replayed', 'true');
      return { status: 200, body: outcome.response };
    }),
  );
  server.post('/receipts/send-unsent', async () => resendResult(await register.courier.resend(), 'receiptSeq'));
  if (!settings.REGISTER_EXTENSIONS) return;
  server.get<{ Querystring: { key?: string | string[] } }>('/receipts', (request, reply) => {
    const { key } = request.query;
    if (typeof key !== 'string' || key === '') {
      return answer(reply, { kind: 'refused', code: 'S-003', message: 'the query must be ?key=<Idempotency-Key>' });
    }
    const entry = journal.findByKey(key);
    return entry ? receipts.journalResponse(entry) : answer(reply, NOT_IN_JOURNAL);
  });
  // No document's number: the path of a POST.
  server.get('/receipts/send-unsent', (_request, reply) => reply.callNotFound());
  server.get<{ Params: { receiptSeq: string } }>('/receipts/:receiptSeq', (request, reply) => {
    const { receiptSeq } = request.params;
    const entry = RECEIPT_SEQ.test(receiptSeq) ? journal.findBySeq(Number(receiptSeq)) : null;
    return entry ? receipts.journalResponse(entry) : answer(reply, NOT_IN_JOURNAL);
  });
}

function addShiftRoutes(server: FastifyInstance, register: Register): void {
  const { module, zReportCourier, faults } = register;
  server.post('/z-report/open', (request, reply) =>
    withReceiptFaults(faults, { path: '/z-report/open', request, reply }, async () => {
      const barred = register.barred();
      if (barred) return { status: httpStatusOf(barred.code), body: errorBody(barred) };
      const outcome = await module.openShift();
      if (outcome.kind === 'opened') return { status: 200, body: { success: true } };
      return { status: httpStatusOf(outcome.code), body: errorBody(refusedByModule(outcome)) };
    }),
  );
  server.post('/z-report/close', (request, reply) =>
    withReceiptFaults(faults, { path: '/z-report/close', request, reply }, async () => {
      const outcome = register.barred() ?? (await closeShift(module, zReportCourier));
      if (outcome.kind === 'closed') return { status: 200, body: outcome.response };
      return { status: httpStatusOf(outcome.code), body: errorBody(outcome) };
    }),
  );
  server.get('/z-report/current', (_request, reply) => {
    const none: Refusal = { kind: 'refused', code: 'F-002', message: 'No shift was ever opened' };
    return currentZReport(module) ?? answer(reply, none);
  });
  server.get('/z-report/stats', () => zReportStats(module));
  server.post('/z-report/send-unsent', async () => resendResult(await zReportCourier.resend(), 'number'));
}

const NOT_IN_JOURNAL: Refusal = {
  kind: 'refused',
  code: 'S-002',
  message: 'the journal has no such receipt',
  details: { reason: 'receipt_not_found' },
};

function answer(reply: FastifyReply, refusal: Refusal): FastifyReply {
  return reply.code(httpStatusOf(refusal.code)).send(errorBody(refusal));
}

function readKey(request: FastifyRequest): string | Refusal | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key === 'string' && /^[\u0020-\u007e]{1,255}$/.test(key)) return key;
  return { kind: 'refused', code: 'S-003', message: 'Idempotency-Key must be 1 to 255 printable ASCII characters' };
}

function listeningPort(server: FastifyInstance): number {
  const address = server.server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function status(register: Register, port: number): LocalStatus {
  const refusal = register.settings.REGISTER_EXTENSIONS ? register.module.standingRefusal() : null;
  return {
    app: APP_NAME,
    version: APP_VERSION,
    systemVersion: `${systemType()} ${release()}`,
    port,
    fmInitialized: register.module.fault() === null,
    activated: register.isActivated(),
    subscriptionState: register.subscription().state,
    ...(register.settings.REGISTER_EXTENSIONS && {
      capabilities: ['idempotency', 'journal', ...FISCAL_FIELDS],
      journalId: register.journalId,
    }),
    ...(refusal && { fmRefusal: { code: refusal.code, reason: refusal.reason, message: refusal.message } }),
  };
}

function fmInfo({ module }: Register): FmInfo {
  const info = module.info();
  return {
    terminalId: info.terminalId,
    version: info.version,
    type: MODULE_TYPE,
    receiptCount: info.unsentReceipts,
    receiptMaxCount: info.receiptCapacity,
    zreportCount: info.shiftsUsed,
    zreportMaxCount: info.shiftCapacity,
    currentReceiptSeq: info.receiptSeq,
    AccumulatedSaleCash: info.sale.cash,
    AccumulatedSaleCard: info.sale.card,
    AccumulatedRefundCash: info.refund.cash,
    AccumulatedRefundCard: info.refund.card,
    AccumulatedSaleVAT: info.sale.vat,
    AccumulatedRefundVAT: info.refund.vat,
  };
}

function business({ settings }: Register): LocalBusiness {
  return {
    success: true,
    business: {
      name: settings.REGISTER_BUSINESS_NAME,
      phone: settings.REGISTER_PHONE,
      tin: settings.REGISTER_TIN,
      legal_address: settings.REGISTER_LEGAL_ADDRESS,
      actual_address: settings.REGISTER_ACTUAL_ADDRESS,
      has_warehouse_system: false,
    },
  };
}

function branch({ settings }: Register): LocalBranch {
  return { success: true, branch: { _id: settings.REGISTER_BRANCH_ID, address: settings.REGISTER_BRANCH_ADDRESS } };
}

function resendResult({ total, sent, errors }: ResendOutcome, idField: 'receiptSeq' | 'number'): ResendResult {
  return {
    success: errors.length === 0,
    total,
    sent,
    failed: errors.length,
    errors: errors.map(({ seq, code, message }) => ({ [idField]: seq, code, message })),
  };
}
