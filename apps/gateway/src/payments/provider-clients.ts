import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { guardedRequest, OutgoingGuard } from '#outgoing';
import {
  DEFINITIONS,
  readAnswer,
  type HttpAnswer,
  type HttpRequest,
  type LineForm,
  type PaymentProvider,
  type ProviderCapabilities,
} from '#payments';
import { isTestId } from '#fiscal-domain';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import type { ProviderHosts } from '#payments';
import { reader, type OpenAccount } from './accounts/account-settings.js';

/** What is possible through this account; some of it has to be enabled by its provider. */
export function capabilitiesOf(account: Pick<OpenAccount, 'provider' | 'values'>): ProviderCapabilities {
  return DEFINITIONS[account.provider].capabilities(reader(account));
}

/** What of a receipt's lines this account's provider can register itself. */
export function lineFormOf(account: Pick<OpenAccount, 'provider' | 'values'>): LineForm {
  return DEFINITIONS[account.provider].lineForm(reader(account));
}

/** Nothing of a sandbox reaches a provider, whatever its rows say. */
const OF_A_SANDBOX: HttpAnswer = { kind: 'unsent', detail: 'a sandbox calls no provider' };

/** The client of an account at its provider; one per account, for the tokens that some of them keep. */
@Injectable()
export class ProviderClients {
  private readonly clients = new LRUCache<string, { account: OpenAccount; client: PaymentProvider }>({ max: 1_000 });
  private readonly guard: OutgoingGuard;
  private readonly hosts: ProviderHosts;
  private readonly timeoutMs: number;

  constructor(@Inject(SETTINGS_TOKEN) settings: GatewaySettings) {
    this.guard = OutgoingGuard.forProviders(settings.PROVIDER_ALLOWED_CIDRS);
    this.hosts = settings.PROVIDER_HOSTS;
    this.timeoutMs = settings.PAYMENT_CALL_TIMEOUT_MS;
  }

  of(account: OpenAccount): PaymentProvider {
    const known = this.clients.get(account.id);
    if (known?.account === account) return known.client;
    const client = DEFINITIONS[account.provider].client(reader(account), (request) =>
      isTestId(account.merchantId) ? Promise.resolve(OF_A_SANDBOX) : this.exchange(request),
    );
    this.clients.set(account.id, { account, client });
    return client;
  }

  private async exchange({ method, url, headers, body, form }: HttpRequest): Promise<HttpAnswer> {
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
        return readAnswer(answer.status, answer.body.toString('utf8'));
    }
  }
}
