import type { FastifyInstance, FastifyReply } from 'fastify';
import { LATE_MS, type Faults } from './faults.js';
import type { Money, SimDocument } from './money.js';

interface ReceiptBody {
  payment_id: string;
  operation_id: string;
  card_amount: number;
  items: { discount?: number }[];
}

const BASE = '/uzum/ofd/v2';

/** Uzum Fiscalization: one receipt per operation id, its link at once or a moment later (fault `late`). */
export function addUzumOfd(server: FastifyInstance, { money, faults }: { money: Money; faults: Faults }): void {
  const documents = new Map<string, { document: SimDocument; readableMs: number; paymentId: string }>();
  const register = (body: ReceiptBody, type: SimDocument['type'], reply: FastifyReply): unknown => {
    const isSent = [...documents.values()].some(
      ({ paymentId, document }) => paymentId === body.payment_id && document.type === type,
    );
    if (isSent) {
      const message = 'Receipt with the same payment_id and receipt_type was already send.';
      return reply.code(400).send(type === 'sale' ? { code: 2, message } : { message });
    }
    const totalTiyin = body.card_amount - body.items.reduce((sum, { discount = 0 }) => sum + discount, 0);
    const payment = money.find(body.payment_id);
    if (!payment) return reply.code(404).send({ message: `Receipt with ${body.payment_id} payment id was not found` });
    const document = money.register(payment, type, { count: body.items.length, totalTiyin });
    const isLate = faults.draw(['late']) !== null;
    const readableMs = Date.now() + (isLate ? LATE_MS : 0);
    documents.set(body.operation_id, { document, readableMs, paymentId: body.payment_id });
    if (isLate) return reply.code(202).send({ code: 0, message: 'Your request was accepted.' });
    const receipt_id = Number(new URL(document.url).searchParams.get('r'));
    const named = type === 'sale' ? { payment_id: body.payment_id } : {};
    return { receipt_id, ...named, receipt_url: document.url };
  };
  server.post(`${BASE}/receipt`, (request, reply) => register(request.body as ReceiptBody, 'sale', reply));
  server.post(`${BASE}/refund_receipt`, (request, reply) => register(request.body as ReceiptBody, 'refund', reply));
  server.get(`${BASE}/receipt/:operation/receipt_url`, (request, reply) => {
    const known = documents.get((request.params as { operation: string }).operation);
    if (!known) return reply.code(404).send({ message: 'Receipt was not found' });
    if (known.readableMs <= Date.now()) return { receipt_url: known.document.url };
    return reply.code(202).send({ message: 'Your request was accepted. Retry later, please' });
  });
}
