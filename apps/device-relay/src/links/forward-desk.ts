import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { OpenedCall, RawAnswer, TransportRequest } from '#local-api';
import { decodeFrame, encodeAnswer, encodeFrame, MAX_MESSAGE_BYTES, readHead, readLimits, type Frame } from '#link';
import { sendProblem } from '#http';
import { Problem } from '#problems';
import { type Logger } from '#runtime';
import type { ForwardAuth } from './forward-auth.js';
import { FORWARD_AUTH_HEADER, FORWARD_MEDIA_TYPE, FORWARD_PATH } from './forwarded-calls.js';
import type { LinkSessions } from './link-sessions.js';

/** Longer than the register's end keeps an announced call open. */
const KEEP_OPEN_MS = 10_000;
const NOT_READABLE: RawAnswer = { kind: 'not_sent', reason: 'call_unreadable' };

interface Kept {
  call: OpenedCall;
  timer: NodeJS.Timeout;
}

/**
 * Takes calls that other relays hand in for links that are held here, and for nothing else. A link that is not here with
 * the epoch that the caller read is answered as absent: nothing is passed on a second time.
 */
export class ForwardDesk {
  private readonly kept = new Map<string, Kept>();

  constructor(
    private readonly relayId: string,
    private readonly auth: ForwardAuth,
    private readonly sessions: LinkSessions,
    private readonly logger: Logger,
  ) {}

  /** Adds the route; its bodies are frames, larger than what other routes take. */
  attach(fastify: FastifyInstance): void {
    void fastify.register((scope, _options, done) => {
      const options = { parseAs: 'buffer' as const, bodyLimit: MAX_MESSAGE_BYTES };
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser(FORWARD_MEDIA_TYPE, options, (_request, body, parsed) => parsed(null, body));
      // The proof is in the head: without it no body is read.
      scope.addHook('onRequest', (request, reply, next) => {
        const refusal = this.auth.refusalOfHead(proofOf(request), this.relayId);
        if (refusal === null) next();
        else this.refuse(request, reply, refusal);
      });
      scope.post(FORWARD_PATH, { bodyLimit: MAX_MESSAGE_BYTES }, (request, reply) => this.take(request, reply));
      done();
    });
  }

  private async take(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const refusal = this.auth.refusalOfBody(proofOf(request), body);
    if (refusal !== null) return this.refuse(request, reply, refusal);
    const frame = decodeFrame(body);
    return reply.type(FORWARD_MEDIA_TYPE).send(frame ? await this.answer(frame) : encoded(NOT_READABLE));
  }

  private refuse(request: FastifyRequest, reply: FastifyReply, reason: string): FastifyReply {
    this.logger.warn({ reason, address: request.ip }, 'a call handed in without a right to it');
    sendProblem(reply, new Problem('unauthenticated', 'Only relays of this installation hand calls in.'), request.id);
    return reply;
  }

  private async answer(frame: Frame): Promise<Buffer> {
    switch (frame.header['type']) {
      case 'open':
        return this.open(frame);
      case 'call':
        return encoded(await this.call(frame));
      case 'send':
        return encoded(await this.send(frame));
      case 'cancel':
        this.give(frame)?.abandon();
        return encoded({ kind: 'not_sent', reason: 'abandoned' });
      default:
        return encoded(NOT_READABLE);
    }
  }

  private async open(frame: Frame): Promise<Buffer> {
    const opening = await this.openOn(frame, true);
    if (opening.kind === 'not_sent') return encoded(opening);
    const callId = randomBytes(16).toString('base64url');
    const timer = setTimeout(() => {
      this.kept.delete(callId);
      opening.call.abandon();
    }, KEEP_OPEN_MS);
    timer.unref();
    this.kept.set(callId, { call: opening.call, timer });
    return encodeFrame({ type: 'ready', callId });
  }

  private async call(frame: Frame): Promise<RawAnswer> {
    const limits = readLimits(frame.header['limits']);
    if (!limits) return NOT_READABLE;
    const opening = await this.openOn(frame, false);
    return opening.kind === 'not_sent' ? opening : opening.call.send(limits, () => true);
  }

  /** Each kept call is given once: a second `send` of the same one finds nothing. */
  private async send(frame: Frame): Promise<RawAnswer> {
    const limits = readLimits(frame.header['limits']);
    const call = this.give(frame);
    if (!limits || !call) return { kind: 'not_sent', reason: 'call_given_up' };
    return call.send(limits, () => true);
  }

  private give({ header }: Frame): OpenedCall | null {
    const callId = typeof header['callId'] === 'string' ? header['callId'] : '';
    const kept = this.kept.get(callId);
    if (!kept) return null;
    this.kept.delete(callId);
    clearTimeout(kept.timer);
    return kept.call;
  }

  private async openOn({ header, body }: Frame, confirmed: boolean): ReturnType<LinkOpen> {
    const head = readHead(header['head']);
    const { deviceId, epoch } = header;
    if (!head || typeof deviceId !== 'string' || typeof epoch !== 'string' || !/^\d{1,18}$/.test(epoch)) {
      return { kind: 'not_sent', reason: 'call_unreadable' };
    }
    const link = this.sessions.held(deviceId, BigInt(epoch));
    if (!link) return { kind: 'not_sent', reason: 'link_absent' };
    const request: TransportRequest = { ...head, confirmed, body: head.method === 'GET' ? null : body };
    return link.open(request);
  }
}

function proofOf({ headers }: FastifyRequest): string | undefined {
  const header = headers[FORWARD_AUTH_HEADER];
  return typeof header === 'string' ? header : undefined;
}

type LinkOpen = NonNullable<ReturnType<LinkSessions['held']>>['open'];

function encoded(answer: RawAnswer): Buffer {
  return encodeAnswer({ type: 'result' }, answer);
}
