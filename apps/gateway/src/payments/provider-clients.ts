import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { guardedRequest, OutgoingGuard } from '#outgoing';
import {
  ClickClient,
  clickCapabilities,
  clickLineForm,
  MULTICARD_LINE_FORM,
  MulticardClient,
  multicardCapabilities,
  PaymeClient,
  PAYME_CAPABILITIES,
  PAYME_LINE_FORM,
  readAnswer,
  type ClickAmountScale,
  type HttpAnswer,
  type HttpRequest,
  type LineForm,
  type PaymentProvider,
  type ProviderCapabilities,
} from '#payments';
import type { GatewaySettings } from '../settings.js';
import { SETTINGS_TOKEN } from '../tokens.js';
import { valueOf, type OpenAccount } from './accounts/account-settings.js';
import type { ProviderHosts } from '#payments';

/** What is possible through this account; some of it has to be enabled by its provider. */
export function capabilitiesOf(account: Pick<OpenAccount, 'provider' | 'values'>): ProviderCapabilities {
  switch (account.provider) {
    case 'payme':
      return PAYME_CAPABILITIES;
    case 'click':
      return clickCapabilities({
        linksRefunds: valueOf(account, 'refund_documents') === 'link',
        refundsParts: valueOf(account, 'partial_refunds') === 'on',
      });
    case 'multicard':
      return multicardCapabilities({ refundsParts: valueOf(account, 'partial_refunds') === 'on' });
  }
}

/** What of a receipt's lines this account's provider can register itself. */
export function lineFormOf(account: Pick<OpenAccount, 'provider' | 'values'>): LineForm {
  switch (account.provider) {
    case 'payme':
      return PAYME_LINE_FORM;
    case 'click':
      return clickLineForm(amountScaleOf(account));
    case 'multicard':
      return MULTICARD_LINE_FORM;
  }
}

function amountScaleOf(account: Pick<OpenAccount, 'provider' | 'values'>): ClickAmountScale {
  return valueOf(account, 'ofd_amount_scale') === '1000' ? 1_000 : 1;
}

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
    const client = this.make(account);
    this.clients.set(account.id, { account, client });
    return client;
  }

  private make(account: OpenAccount): PaymentProvider {
    const exchange = (request: HttpRequest): Promise<HttpAnswer> => this.exchange(request);
    const value = (name: string): string => valueOf(account, name);
    switch (account.provider) {
      case 'payme': {
        const [apiUrl, cashboxId, key] = [value('api_url'), value('cashbox_id'), value('key')];
        return new PaymeClient({ apiUrl, cashboxId, key, accountField: value('account_field') }, exchange);
      }
      case 'click': {
        const [apiUrl, serviceId, merchantUserId] = [value('api_url'), value('service_id'), value('merchant_user_id')];
        const sellerTin = value('tin');
        const more = { secretKey: value('secret_key'), ...(sellerTin !== '' && { sellerTin }) };
        const documents = {
          amountScale: amountScaleOf(account),
          linksRefunds: value('refund_documents') === 'link',
          refundsParts: value('partial_refunds') === 'on',
        };
        return new ClickClient({ apiUrl, serviceId, merchantUserId, ...more, ...documents }, exchange);
      }
      case 'multicard': {
        const tokenHeader = value('token_header') === 'x-access-token' ? 'x-access-token' : 'authorization';
        const options = { apiUrl: value('api_url'), applicationId: value('application_id'), secret: value('secret') };
        const holdMinutes = Number(value('hold_minutes'));
        const refundsParts = value('partial_refunds') === 'on';
        const sellerTin = value('tin');
        const tin = sellerTin === '' ? {} : { sellerTin };
        const saysLines = value('invoice_ofd') === 'lines';
        const more = { storeId: value('store_id'), tokenHeader, holdMinutes, refundsParts, saysLines, ...tin } as const;
        return new MulticardClient({ ...options, ...more }, exchange);
      }
    }
  }

  private async exchange({ method, url, headers, body }: HttpRequest): Promise<HttpAnswer> {
    // Also for an address that was stored before its host was taken off the list.
    if (!URL.canParse(url) || !this.hosts.has(new URL(url))) {
      return { kind: 'unsent', detail: 'the host is not in PROVIDER_HOSTS' };
    }
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const answer = await guardedRequest(this.guard, {
      url,
      method,
      headers: { accept: 'application/json', ...(payload && { 'content-type': 'application/json' }), ...headers },
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
