import { createHmac, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { isId, type IdPrefix } from '#fiscal-domain';
import { deriveKey } from '#secrets';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';

const TOKEN = /^([0-9a-z]{26})\.([A-Za-z0-9_-]{22})$/;
const DIGEST_BYTES = 16;

/** Addresses that prove by themselves what they may do, as those of receipts do (receipt-url.ts): under each key of the ring. */
@Injectable()
export class MessageTokens {
  private readonly keys: readonly Buffer[];
  private readonly base: string;

  constructor(
    @Inject(SETTINGS_TOKEN) { SECRETS_KEY, PUBLIC_URL }: Pick<GatewaySettings, 'SECRETS_KEY' | 'PUBLIC_URL'>,
  ) {
    const older = [...SECRETS_KEY.keys.keys()].filter((id) => id !== SECRETS_KEY.active);
    this.keys = [SECRETS_KEY.active, ...older].map((id) => deriveKey(SECRETS_KEY, 'message-address', id));
    this.base = PUBLIC_URL;
  }

  /** Ends messages of this channel to the message's address. */
  unsubscribeUrl(messageId: string): string {
    return new URL(`/u/${this.tokenOf('unsubscribe', 'msg', messageId)}`, this.base).href;
  }

  messageIdOf(token: string): string | null {
    return this.idOf('unsubscribe', 'msg', token);
  }

  /** Where a provider reports what became of an account's messages. */
  callbackUrl(accountId: string): string {
    return new URL(`/m/${this.tokenOf('reports', 'mac', accountId)}`, this.base).href;
  }

  accountIdOf(token: string): string | null {
    return this.idOf('reports', 'mac', token);
  }

  private tokenOf(purpose: string, prefix: IdPrefix, id: string): string {
    const [key] = this.keys;
    return `${id.slice(prefix.length + 1)}.${digestOf(purpose, id, key ?? Buffer.alloc(0)).toString('base64url')}`;
  }

  private idOf(purpose: string, prefix: IdPrefix, token: string): string | null {
    const [, number = '', digest = ''] = TOKEN.exec(token) ?? [];
    const id = `${prefix}_${number}`;
    if (!isId(prefix, id)) return null;
    const given = Buffer.from(digest, 'base64url');
    const fits = this.keys.map((key) => timingSafeEqual(digestOf(purpose, id, key), given));
    return fits.includes(true) ? id : null;
  }
}

function digestOf(purpose: string, id: string, key: Buffer): Buffer {
  return createHmac('sha256', key).update(`${purpose}|${id}`).digest().subarray(0, DIGEST_BYTES);
}
