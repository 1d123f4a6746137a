import { connect, type Socket } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import type { Reach, SocketRequest, WireAnswer, WireRequest } from '#messages';
import { guardedRequest, OutgoingGuard, OutgoingRefused } from '#outgoing';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';

const CONNECT_MS = 5_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** What a mail server listens on. Any other port is for the networks that are listed. */
const MAIL_PORTS: ReadonlySet<number> = new Set([25, 465, 587, 2525]);

/** How messages leave: only where the guard allows, bounded in time and size. */
@Injectable()
export class MessageReach implements Reach {
  readonly guard: OutgoingGuard;
  private readonly listedOnly: OutgoingGuard;

  constructor(@Inject(SETTINGS_TOKEN) private readonly settings: GatewaySettings) {
    this.guard = OutgoingGuard.forMessages(settings.MESSAGE_ALLOWED_CIDRS);
    this.listedOnly = OutgoingGuard.forListed('MESSAGE_ALLOWED_CIDRS', settings.MESSAGE_ALLOWED_CIDRS);
  }

  async http({ method, url, headers, body }: WireRequest): Promise<WireAnswer> {
    const answer = await guardedRequest(this.guard, {
      ...{ url, method, headers, timeoutMs: this.settings.MESSAGE_CALL_TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES },
      ...(body !== undefined && { body }),
    });
    switch (answer.kind) {
      case 'refused':
      case 'not_sent':
        return { kind: 'unsent', detail: answer.reason };
      case 'failed':
        return { kind: 'unknown', detail: answer.reason };
      case 'answered':
        if (answer.truncated) return { kind: 'unknown', detail: 'the answer is too large' };
        return { kind: 'answered', status: answer.status, text: answer.body.toString('utf8') };
    }
  }

  socket({ host, port, isEncrypted }: SocketRequest): Promise<Socket> {
    const guard = MAIL_PORTS.has(port) ? this.guard : this.listedOnly;
    // As for addresses on the web: what is not encrypted goes to listed networks alone.
    const protocol = isEncrypted ? 'https:' : 'http:';
    const fault = guard.literalFault(new URL(`${protocol}//${host}`));
    if (fault !== null) return Promise.reject(new OutgoingRefused(fault));
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, lookup: guard.lookupFor({ protocol }) });
      const timer = setTimeout(() => socket.destroy(new Error('connect_timeout')), CONNECT_MS);
      socket.once('connect', () => {
        clearTimeout(timer);
        socket.removeListener('error', reject);
        resolve(socket);
      });
      socket.once('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
    });
  }
}
