import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Ledger, type LedgerResult } from './ledger.js';

export const OFD_MODES = ['ok', 'reject', 'error', 'hang', 'down'] as const;
export type OfdMode = (typeof OFD_MODES)[number];

/** Documents of one delivery (docs/cash-register.md). */
const MAX_BATCH = 32;
const DEFAULT_PAGE = 1_000;
const MAX_PAGE = 10_000;
const BODY_LIMIT_BYTES = 64 * 1024 * 1024;

/** The mode of deliveries; lists and faults always answer. */
class FaultSwitch {
  private mode: OfdMode = 'ok';
  private left = Number.POSITIVE_INFINITY;

  set(mode: OfdMode, next: number | undefined): void {
    this.mode = mode;
    this.left = next ?? Number.POSITIVE_INFINITY;
  }

  /** The mode of the delivery that begins now; after `next` deliveries it is `ok` again. */
  draw(): OfdMode {
    if (this.mode === 'ok') return 'ok';
    if (this.left <= 0) {
      this.set('ok', undefined);
      return 'ok';
    }
    this.left -= 1;
    return this.mode;
  }

  show(): { mode: OfdMode; next?: number } {
    if (this.left <= 0) return { mode: 'ok' };
    return Number.isFinite(this.left) ? { mode: this.mode, next: this.left } : { mode: this.mode };
  }
}

/**
 * An OFD to test against: takes documents and Z-reports (protocol: libs/fiscal-module/src/ofd-document.ts), checks sequence and digest
 * chain, lists what it holds and misbehaves on demand. It keeps everything in memory.
 */
export function ofdSimulatorServer(): FastifyInstance {
  const server = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    keepAliveTimeout: 72_000,
    forceCloseConnections: true,
    return503OnClosing: false,
  });
  const faults = new FaultSwitch();
  const documents = addKind(server, faults, '/documents', 'documents');
  addKind(server, faults, '/z-reports', 'z_reports');
  server.get('/check', (request, reply) => publicPage(documents, request, reply));
  server.post('/faults', (request, reply) => {
    const { mode: name, next } = (request.body ?? {}) as { mode?: unknown; next?: unknown };
    const mode = OFD_MODES.find((one) => one === name);
    const isNext = next === undefined || (Number.isSafeInteger(next) && (next as number) >= 0);
    if (!mode || !isNext) {
      return reply.code(400).send({ error: `mode must be one of ${OFD_MODES.join(', ')}, next a whole number` });
    }
    faults.set(mode, next as number | undefined);
    return faults.show();
  });
  server.get('/faults', () => faults.show());
  server.get('/healthz', () => ({ status: 'ok' }));
  return server;
}

/** POST, GET and GET …/checks of one kind of entry. */
function addKind(server: FastifyInstance, faults: FaultSwitch, path: string, field: string): Ledger {
  const ledger = new Ledger();
  server.post(path, (request, reply) => {
    const mode = faults.draw();
    if (mode === 'hang') return reply.hijack();
    if (mode === 'down') {
      request.raw.socket.destroy();
      return reply.hijack();
    }
    if (mode === 'error') return reply.code(500).send({ error: 'simulated failure' });
    const { terminal_id: terminalId, [field]: entries } = (request.body ?? {}) as Record<string, unknown>;
    if (typeof terminalId !== 'string' || !Array.isArray(entries) || entries.length > MAX_BATCH) {
      return reply
        .code(400)
        .send({ error: `the body must be {terminal_id, ${field}: [at most ${String(MAX_BATCH)}]}` });
    }
    const results = (entries as unknown[]).map((entry) =>
      mode === 'reject' ? refused(entry) : ledger.take(entry, terminalId),
    );
    return { results };
  });
  server.get(path, (request: FastifyRequest, reply: FastifyReply) => {
    const query = request.query as Record<string, string | undefined>;
    const limit = Number(query['limit'] ?? DEFAULT_PAGE);
    const cursor = Number(query['cursor'] ?? 0);
    if (!Number.isSafeInteger(limit) || limit < 1 || !Number.isSafeInteger(cursor) || cursor < 0) {
      return reply.code(400).send({ error: 'limit and cursor must be whole numbers' });
    }
    return ledger.list({ cursor, limit: Math.min(limit, MAX_PAGE), terminalId: query['terminal_id'] });
  });
  server.get(`${path}/checks`, () => ({ data: ledger.checks() }));
  return ledger;
}

/**
 * What a buyer sees behind the QR code, `?t=&r=&c=&s=`. The real page's layout is published nowhere; that it names the goods is
 * what it is for. Like many pages it repeats what its address says, also for a document that it does not have.
 */
function publicPage(ledger: Ledger, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { t = '', r = '', c = '', s = '' } = request.query as Record<string, string | undefined>;
  const entry = ledger.find(t, Number(r));
  const isIt = entry !== null && entry['time'] === c && entry['fiscal_sign'] === s;
  const names = isIt && Array.isArray(entry['items']) ? (entry['items'] as { name?: unknown }[]) : [];
  const lines = names.map(({ name }) => `<li>${escaped(String(name))}</li>`).join('');
  const head = `<h1>${escaped(`${t} № ${r}, ${c}, ${s}`)}</h1>`;
  const body = isIt ? `<ul>${lines}</ul>` : '<p>Not found</p>';
  return reply.type('text/html; charset=utf-8').send(`<!doctype html>${head}${body}`);
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${String(sign.charCodeAt(0))};`);
}

function refused(entry: unknown): LedgerResult {
  const seq = (entry as { seq?: unknown } | null)?.seq;
  const message = 'refused by the simulator';
  return { seq: typeof seq === 'number' ? seq : 0, status: 'rejected', code: 'refused', message };
}
