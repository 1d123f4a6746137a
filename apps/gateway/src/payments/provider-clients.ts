import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { PrismaService } from '#database';
import { guardedRequest, OutgoingGuard } from '#outgoing';
import {
  DEFINITIONS,
  readAnswer,
  type HttpAnswer,
  type HttpRequest,
  type LineForm,
  type NextAction,
  type PaymentProvider,
  type ProviderCapabilities,
  type ProviderHosts,
} from '#payments';
import { isTestId } from '#fiscal-domain';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { reader, type OpenAccount } from './accounts/account-settings.js';
import { EMULATED_CAPABILITIES } from './emulated/emulated-capabilities.js';
import { EmulatedProvider } from './emulated/emulated-provider.js';
import { ProviderHealth } from './routing/provider-health.js';

/** What is possible through this account; some of it has to be enabled by its provider. */
export function capabilitiesOf(account: Pick<OpenAccount, 'merchantId' | 'provider' | 'values'>): ProviderCapabilities {
  if (isTestId(account.merchantId)) return EMULATED_CAPABILITIES;
  return DEFINITIONS[account.provider].capabilities(reader(account));
}

/** What of a receipt's lines this account's provider can register itself. */
export function lineFormOf(account: Pick<OpenAccount, 'provider' | 'values'>): LineForm {
  return DEFINITIONS[account.provider].lineForm(reader(account));
}

/** Where the customer of a payment goes that its provider drives; null: it has no page. */
export function checkoutOf(
  account: OpenAccount,
  { id, returnUrl, totalTiyin }: { id: string; returnUrl: string | null; totalTiyin: number },
): NextAction | null {
  const order = { ourRef: id, amountTiyin: totalTiyin, returnUrl };
  return DEFINITIONS[account.provider].checkout?.(reader(account), order) ?? null;
}

/** An answer as it came, whether or not it can be read. */
export interface SeenAnswer {
  status: number;
  text: string;
}

/** The client of an account at its provider; one per account, for the tokens that some of them keep. */
@Injectable()
export class ProviderClients {
  private readonly clients = new LRUCache<string, { account: OpenAccount; client: PaymentProvider }>({ max: 1_000 });
  private readonly guard: OutgoingGuard;
  private readonly hosts: ProviderHosts;
  private readonly timeoutMs: number;

  constructor(
    private readonly prisma: PrismaService,
    private readonly health: ProviderHealth,
    @Inject(SETTINGS_TOKEN) settings: GatewaySettings,
  ) {
    this.guard = OutgoingGuard.forProviders(settings.PROVIDER_ALLOWED_CIDRS);
    this.hosts = settings.PROVIDER_HOSTS;
    this.timeoutMs = settings.PAYMENT_CALL_TIMEOUT_MS;
  }

  of(account: OpenAccount): PaymentProvider {
    const known = this.clients.get(account.id);
    if (known?.account === account) return known.client;
    const client = this.make(account);
    this.clients.set(account.id, { account, client });
    return client;
  }

  /** A client that shares nothing with the others, a token neither; what comes back of each request is shown to `observe`. */
  observed({ provider, values }: OpenAccount, observe: (answer: SeenAnswer | null) => void): PaymentProvider {
    return DEFINITIONS[provider].client(reader({ provider, values }), (request) => this.exchange(request, observe));
  }

  /** Nothing of a sandbox reaches a provider, whatever its rows say: its client has nothing to send with. */
  private make({ id, merchantId, provider, values }: OpenAccount): PaymentProvider {
    if (isTestId(merchantId)) return new EmulatedProvider(merchantId, this.prisma);
    return DEFINITIONS[provider].client(reader({ provider, values }), async (request) => {
      const answer = await this.exchange(request);
      this.health.answered(id, answer.kind === 'answered' && answer.status < 500);
      return answer;
    });
  }

  private async exchange(
    { method, url, headers, body, form }: HttpRequest,
    observe?: (answer: SeenAnswer | null) => void,
  ): Promise<HttpAnswer> {
    observe?.(null);
    // Also for an address that was stored before its host was taken off the list.
    if (!URL.canParse(url) || !this.hosts.has(new URL(url))) {
      return { kind: 'unsent', detail: 'the host is not in PROVIDER_HOSTS' };
    }
    const payload = form ?? (body === undefined ? undefined : JSON.stringify(body));
    const contentType = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const answer = await guardedRequest(this.guard, {
      url,
      method,
      headers: { accept: 'application/json', ...(payload && { 'content-type': contentType }), ...headers },
      ...(payload !== undefined && { body: payload }),
      timeoutMs: this.timeoutMs,
      maxAnswerBytes: 1024 * 1024,
    });
    switch (answer.kind) {
      case 'refused':
      case 'not_sent':
        return { kind: 'unsent', detail: answer.reason };
      case 'failed':
        return { kind: 'unknown', detail: answer.reason };
      case 'answered':
        if (answer.truncated) return { kind: 'unknown', detail: 'the answer is too large' };
        observe?.({ status: answer.status, text: answer.body.toString('utf8') });
        return readAnswer(answer.status, answer.body.toString('utf8'));
    }
  }
}
