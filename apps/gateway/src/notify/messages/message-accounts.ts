import { Inject, Injectable } from '@nestjs/common';
import { isUniqueViolation, messageCredentialsOwner, PrismaService, type Prisma } from '#database';
import { isTestId } from '#fiscal-domain';
import { Problem, type ProblemError } from '#problems';
import { isMessageProvider, MESSAGE_DEFINITIONS, type MessageChannel, type MessageProviderCode } from '#messages';
import { splitSecrets } from '#outgoing';
import { newId } from '#runtime';
import { open, seal } from '#secrets';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { keptSecretFaults } from '../../http/account-fields.js';
import { given } from '../../http/given.js';
import { notFound } from '../../http/own-id.js';
import { viewOfColumns } from '../../http/view-of-columns.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { setAnew, switched } from '../begin-anew.js';
import { accountFaults, storedSettings, type AccountRow } from './account-rows.js';
import type { AccountChangeBody } from './message-bodies.js';
import { MessageReach } from './message-reach.js';
import { MessageTokens } from './message-tokens.js';

/** As the API shows it: no secret leaves. */
export interface MessageAccountView {
  id: string;
  channel: MessageChannel;
  provider: string;
  name: string;
  settings: Record<string, string>;
  /** Names of the secrets that are set. */
  secrets: string[];
  per_minute: number;
  quiet_from: string | null;
  quiet_until: string | null;
  /** Where the provider reports what became of messages; keep it secret. */
  callback_url: string;
  enabled: boolean;
  disabled_at: string | null;
  disabled_reason: string | null;
  /** First failure since the last success. */
  failing_since: string | null;
  created_at: string;
}

/** An account with its secrets opened. */
export interface OpenMessageAccount {
  id: string;
  merchantId: string;
  provider: MessageProviderCode;
  channel: MessageChannel;
  values: Readonly<Record<string, string>>;
}

/** A merchant's accounts at mail servers, SMS providers and Telegram: one for a channel. */
@Injectable()
export class MessageAccounts {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    private readonly reach: MessageReach,
    private readonly tokens: MessageTokens,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'SECRETS_KEY'>,
  ) {}

  /** Also a disabled one: what it has begun is brought to its end. */
  async open(id: string): Promise<OpenMessageAccount | null> {
    const row = await this.prisma.messageAccount.findFirst({ where: { id, deletedAt: null } });
    return row && this.opened(row);
  }

  async ofChannel(merchantId: string, channel: MessageChannel): Promise<AccountRow | null> {
    return this.prisma.messageAccount.findFirst({ where: { merchantId, channel, deletedAt: null } });
  }

  async list(merchantId: string): Promise<MessageAccountView[]> {
    const rows = await this.prisma.messageAccount.findMany({
      where: { merchantId, deletedAt: null },
      orderBy: { id: 'asc' },
    });
    return rows.map((row) => this.view(row));
  }

  /** @throws Problem 404 */
  async get(merchantId: string, id: string): Promise<MessageAccountView> {
    const row = await this.prisma.messageAccount.findFirst({ where: { id, merchantId, deletedAt: null } });
    if (!row) throw notFound('message account');
    return this.view(row);
  }

  /** @throws Problem 422; 409 code_taken when the channel has an account already */
  async create(caller: Caller, provider: string, input: AccountChangeBody): Promise<MessageAccountView> {
    const { merchantId } = caller;
    if (!isMessageProvider(provider)) throw providerFault('There is no such provider.');
    if (isTestId(merchantId)) throw providerFault('A sandbox sends no messages to buyers.');
    const values = input.settings ?? {};
    await this.check(provider, values, input);
    const id = newId('mac');
    const { channel, fields } = MESSAGE_DEFINITIONS[provider];
    const { credentials, ...settings } = splitSecrets(fields, values);
    const data = {
      ...{ id, merchantId, channel, provider, name: input.name ?? provider, settings },
      ...{ credentialsSealed: this.sealed(id, credentials), ...limitsOf(input) },
    };
    try {
      return await this.changes.execute(caller, async (tx) => {
        const result = this.view(await tx.messageAccount.create({ data }));
        return { result, action: 'message_account.create', targetId: id, before: null, after: audited(result) };
      });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new Problem('code_taken', 'The channel has an account already; delete it first.');
    }
  }

  /** Fields that are not named stay. @throws Problem 404, 422 */
  async change(caller: Caller, id: string, input: AccountChangeBody): Promise<MessageAccountView> {
    return this.changes.execute(caller, async (tx) => {
      const row = await lockAccount(tx, caller.merchantId, id);
      const provider = row.provider as MessageProviderCode;
      const { fields, places } = MESSAGE_DEFINITIONS[provider];
      const kept = keptSecretFaults(fields, storedSettings(row), input.settings ?? {}, places);
      if (kept.length > 0) throw Problem.fromErrors(kept);
      const values = { ...this.opened(row).values, ...input.settings };
      await this.check(provider, values, {
        quiet_from: input.quiet_from === undefined ? row.quietFrom : input.quiet_from,
        quiet_until: input.quiet_until === undefined ? row.quietUntil : input.quiet_until,
      });
      const { credentials, ...settings } = splitSecrets(fields, values);
      const after = await tx.messageAccount.update({
        where: { id },
        data: {
          ...{ settings, credentialsSealed: this.sealed(id, credentials), ...limitsOf(input) },
          ...given({ name: input.name }),
          ...(Object.keys(input.settings ?? {}).length > 0 && setAnew(row)),
          ...switched(row, input.enabled),
        },
      });
      const result = this.view(after);
      const changed = { ...audited(result), secrets_set: splitSecrets(fields, input.settings ?? {}).secrets };
      return {
        result,
        action: 'message_account.change',
        targetId: id,
        before: audited(this.view(row)),
        after: changed,
      };
    });
  }

  /** What waits for it is never sent. @throws Problem 404 */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const row = await lockAccount(tx, caller.merchantId, id);
      await tx.messageAccount.update({ where: { id }, data: { deletedAt: new Date(), dueAt: null } });
      return {
        result: null,
        action: 'message_account.delete',
        targetId: id,
        before: audited(this.view(row)),
        after: null,
      };
    });
  }

  private opened(row: AccountRow): OpenMessageAccount {
    const text = open(row.credentialsSealed, messageCredentialsOwner(row.id), this.settings.SECRETS_KEY);
    const credentials = JSON.parse(text) as Record<string, string>;
    return {
      ...{ id: row.id, merchantId: row.merchantId, channel: row.channel },
      provider: row.provider as MessageProviderCode,
      values: { ...storedSettings(row).values, ...credentials },
    };
  }

  private sealed(id: string, credentials: Record<string, string>): Uint8Array<ArrayBuffer> {
    return new Uint8Array(seal(JSON.stringify(credentials), messageCredentialsOwner(id), this.settings.SECRETS_KEY));
  }

  private async check(
    provider: MessageProviderCode,
    values: Readonly<Record<string, string>>,
    { quiet_from: from, quiet_until: until }: Pick<AccountChangeBody, 'quiet_from' | 'quiet_until'>,
  ): Promise<void> {
    const faults: ProblemError[] = accountFaults(provider, values);
    const url = values['api_url'];
    if (faults.length === 0 && url !== undefined) {
      const verdict = await this.reach.guard.check(url);
      if (verdict.kind !== 'allowed')
        faults.push({ pointer: '/settings/api_url', code: 'address_not_allowed', detail: verdict.reason });
    }
    const host = values['host'];
    if (faults.length === 0 && host !== undefined) {
      const verdict = await this.reach.guard.check(`https://${host}/`);
      if (verdict.kind === 'refused' || verdict.kind === 'malformed')
        faults.push({ pointer: '/settings/host', code: 'address_not_allowed', detail: verdict.reason });
    }
    if (((from ?? null) === null) !== ((until ?? null) === null)) {
      const pointer = (from ?? null) === null ? '/quiet_from' : '/quiet_until';
      faults.push({ pointer, code: 'required', detail: 'quiet hours have a beginning and an end' });
    }
    if (faults.length > 0) throw Problem.fromErrors(faults);
  }

  private view(row: AccountRow): MessageAccountView {
    const { values, secrets } = storedSettings(row);
    return {
      ...viewOfColumns(row, 'id', 'channel', 'provider', 'name', 'perMinute', 'quietFrom', 'quietUntil'),
      ...{ settings: values, secrets },
      callback_url: this.tokens.callbackUrl(row.id),
      enabled: row.disabledAt === null,
      ...viewOfColumns(row, 'disabledAt', 'disabledReason', 'failingSince', 'createdAt'),
    };
  }
}

function providerFault(detail: string): Problem {
  return Problem.at('/provider', 'invalid_value', detail);
}

/** @throws Problem 404 */
async function lockAccount(tx: Prisma.TransactionClient, merchantId: string, id: string): Promise<AccountRow> {
  await tx.$queryRaw`SELECT id FROM message_accounts WHERE id = ${id} AND merchant_id = ${merchantId} FOR UPDATE`;
  const row = await tx.messageAccount.findFirst({ where: { id, merchantId, deletedAt: null } });
  if (!row) throw notFound('message account');
  return row;
}

function limitsOf(input: AccountChangeBody) {
  return given({ perMinute: input.per_minute, quietFrom: input.quiet_from, quietUntil: input.quiet_until });
}

/** For the trail: everything but what changes by itself; the address that proves a report is none of its business. */
function audited(view: MessageAccountView): Record<string, unknown> {
  const { channel, provider, name, settings, per_minute, quiet_from, quiet_until, enabled } = view;
  const secret_names = view.secrets;
  return { channel, provider, name, settings, secret_names, per_minute, quiet_from, quiet_until, enabled };
}
