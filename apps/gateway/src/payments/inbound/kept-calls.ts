import { Inject, Injectable } from '@nestjs/common';
import { callbackOwner } from '#database';
import { newId } from '#runtime';
import { seal } from '#secrets';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';

/** What of a provider's call stands in columns: enough to find it and to name it. */
export interface CallName {
  /** As the provider names it. */
  operation: string;
  /** Its id of the transaction, attempt or payment. */
  providerRef: string | null;
  paymentId: string | null;
  amountTiyin: number | null;
}

/** A provider's call that is kept. */
export interface KeptCall extends CallName {
  accountId: string;
  address: string;
  /** As it came: kept sealed only. */
  body: string;
  answer: unknown;
}

export interface SealedBody {
  reference: string;
  sealed: Buffer;
}

/** Bodies of providers' calls hold card tokens, masked numbers and phones: they are stored sealed, each bound to its row. */
@Injectable()
export class CallbackSeal {
  constructor(@Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>) {}

  seal(body: string): SealedBody {
    const reference = newId('cbk');
    return { reference, sealed: seal(body, callbackOwner(reference), this.settings.SECRETS_KEY) };
  }
}
