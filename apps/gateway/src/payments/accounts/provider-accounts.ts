import { Inject, Injectable } from '@nestjs/common';
import { acrossMerchants, credentialsOwner, isUniqueViolation, Prisma, SalesDatabase } from '#database';
import { isTestId } from '#fiscal-domain';
import { Problem, type ProblemError } from '#problems';
import { OutgoingGuard, parseCidr, splitSecrets } from '#outgoing';
import { growingCache, newIdOf } from '#runtime';
import { open, seal } from '#secrets';
import { DEFINITIONS, isProvider, type ProviderCode } from '#payments';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { keptSecretFaults, settingFaults } from '../../http/account-fields.js';
import { notFound } from '../../http/own-id.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { reader, type OpenAccount } from './account-settings.js';

/** As the API shows it: no secret leaves. */
export interface AccountView {
  id: string;
  provider: string;
  name: string;
  settings: Record<string, string>;
  /** Names of the secrets that are set. */
  secrets: string[];
  sources: string[];
  /** Where the provider has to call. */
  callback_url: string;
  /** Whether its calls are answered: what `provider: "auto"` and the metrics go by. */
  health: AccountHealth;
  disabled_at: string | null;
  created_at: string;
}

export interface AccountHealth {
  status: 'up' | 'down';
  /** Null: it has always answered. */
  since: string | null;
  /** What the last failure was. */
  detail: string | null;
}

export interface AccountInput {
  name?: string | undefined;
  settings?: Record<string, string> | undefined;
  sources?: string[] | undefined;
}

interface AccountRow {
  id: string;
  merchant_id: string;
  provider: ProviderCode;
  name: string;
  settings: { values: Record<string, string>; sources: string[]; secrets: string[] };
  credentials_sealed: Uint8Array;
  created_at: Date;
  disabled_at: Date | null;
  health: { is_down: boolean; since: string; detail: string } | null;
}

const COLUMNS = Prisma.sql`
  provider_accounts.*,
  (SELECT jsonb_build_object('is_down', h.is_down, 'since', h.since, 'detail', h.detail)
     FROM provider_health h WHERE h.account_id = provider_accounts.id) AS health`;

/** A changed key is used everywhere within this time. */
const ACCOUNT_TTL_MS = 5_000;

/** A merchant's accounts at payment providers. Every change is on the audit trail, secrets by name only. */
@Injectable()
export class ProviderAccounts {
  private readonly guard: OutgoingGuard;
  private readonly opened = growingCache<string, OpenAccount>(5_000, {
    // A change drops what is being read at that moment: its reader gets it, and it is not cached.
    ignoreFetchAbort: true,
    ttl: ACCOUNT_TTL_MS,
    // All that ask for it at the same moment share what is read, workers among them: whose scope it is asked in decides nothing.
    fetchMethod: (id) => acrossMerchants(() => this.read(id)),
  });

  constructor(
    private readonly prisma: SalesDatabase,
    private readonly changes: AuditedChange,
    @Inject(SETTINGS_TOKEN) private readonly settings: GatewaySettings,
  ) {
    this.guard = OutgoingGuard.forProviders(settings.PROVIDER_ALLOWED_CIDRS);
  }

  /** Also disabled ones: what they have begun is brought to its end. */
  async open(id: string): Promise<OpenAccount | undefined> {
    return this.opened.get(id) ?? (await this.opened.fetch(id));
  }

  /** As its row is now, whatever was changed elsewhere a moment ago. */
  reopen(id: string): Promise<OpenAccount | undefined> {
    return this.opened.fetch(id, { forceRefresh: true });
  }

  /** As it was opened a moment ago; for what must not wait. */
  cached(id: string): OpenAccount | undefined {
    return this.opened.get(id);
  }

  /** The merchant's account for new payments. */
  async liveOf(merchantId: string, provider: ProviderCode): Promise<OpenAccount | undefined> {
    const [row] = await this.prisma.queryHot<{ id: string }>(Prisma.sql`
      SELECT id FROM provider_accounts
       WHERE merchant_id = ${merchantId} AND provider = ${provider} AND disabled_at IS NULL`);
    return row ? this.open(row.id) : undefined;
  }

  async list(merchantId: string): Promise<AccountView[]> {
    const rows = await this.prisma.$queryRaw<AccountRow[]>`
      SELECT ${COLUMNS} FROM provider_accounts WHERE merchant_id = ${merchantId} ORDER BY id LIMIT 100`;
    return rows.map((row) => this.view(row));
  }

  async find(merchantId: string, id: string): Promise<AccountView> {
    const [row] = await this.prisma.$queryRaw<AccountRow[]>`
      SELECT ${COLUMNS} FROM provider_accounts WHERE id = ${id} AND merchant_id = ${merchantId}`;
    if (!row) throw notFound('provider account');
    return this.view(row);
  }

  /** @throws Problem 422; 409 code_taken when the provider has a live account already */
  async create(caller: Caller, provider: string, input: AccountInput): Promise<AccountView> {
    if (!isProvider(provider)) throw Problem.at('/provider', 'invalid_value', 'There is no such payment provider.');
    refuseInSandbox(caller.merchantId, input);
    const id = newIdOf('pac', caller.merchantId);
    const given = input.settings ?? {};
    await this.check(provider, given, input.sources ?? [], !isTestId(caller.merchantId));
    const { credentials, ...shown } = splitSecrets(DEFINITIONS[provider].fields, given);
    const settings = { ...shown, sources: input.sources ?? [] };
    try {
      return await this.changes.execute(caller, async (tx) => {
        const [made] = await tx.$queryRaw<AccountRow[]>`
          INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
          VALUES (${id}, ${caller.merchantId}, ${provider}, ${input.name ?? provider},
                  ${JSON.stringify(settings)}::jsonb, ${this.sealed(id, credentials)}) RETURNING ${COLUMNS}`;
        if (!made) throw new Error('the account was not written');
        const result = this.view(made);
        return { result, action: 'provider_account.create', targetId: id, before: null, after: audited(result) };
      });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new Problem('code_taken', 'The merchant has an account at this provider; disable it first.');
    }
  }

  /** Fields that are not named stay; a changed address needs the secrets again. @throws Problem 404, 422 */
  async update(caller: Caller, id: string, input: AccountInput): Promise<AccountView> {
    refuseInSandbox(caller.merchantId, input);
    const view = await this.changes.execute(caller, async (tx) => {
      const before = await this.lock(tx, caller.merchantId, id);
      const { fields } = DEFINITIONS[before.provider];
      const places = Object.keys(input.settings ?? {}).filter((name) => name.endsWith('_url'));
      const kept = keptSecretFaults(fields, before.settings, input.settings ?? {}, places);
      if (kept.length > 0) throw Problem.fromErrors(kept);
      const values = { ...before.settings.values, ...this.credentials(before), ...input.settings };
      const sources = input.sources ?? before.settings.sources;
      await this.check(before.provider, values, sources, !isTestId(caller.merchantId));
      const { credentials, ...shown } = splitSecrets(fields, values);
      const settings = { ...shown, sources };
      const [after] = await tx.$queryRaw<AccountRow[]>`
        UPDATE provider_accounts SET name = ${input.name ?? before.name}, settings = ${JSON.stringify(settings)}::jsonb,
               credentials_sealed = ${this.sealed(id, credentials)} WHERE id = ${id} RETURNING ${COLUMNS}`;
      if (!after) throw notFound('provider account');
      const result = this.view(after);
      const changed = { ...audited(result), secrets_set: splitSecrets(fields, input.settings ?? {}).secrets };
      return {
        result,
        action: 'provider_account.update',
        targetId: id,
        before: audited(this.view(before)),
        after: changed,
      };
    });
    this.opened.delete(id);
    return view;
  }

  async disable(caller: Caller, id: string): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const before = await this.lock(tx, caller.merchantId, id);
      await tx.$executeRaw`UPDATE provider_accounts SET disabled_at = coalesce(disabled_at, now()) WHERE id = ${id}`;
      const [was, is] = [{ disabled: before.disabled_at !== null }, { disabled: true }];
      return { result: undefined, action: 'provider_account.disable', targetId: id, before: was, after: is };
    });
    this.opened.delete(id);
  }

  private async lock(tx: Prisma.TransactionClient, merchantId: string, id: string): Promise<AccountRow> {
    const [row] = await tx.$queryRaw<AccountRow[]>`
      SELECT ${COLUMNS} FROM provider_accounts WHERE id = ${id} AND merchant_id = ${merchantId} FOR UPDATE`;
    if (!row) throw notFound('provider account');
    return row;
  }

  private async read(id: string): Promise<OpenAccount | undefined> {
    const [row] = await this.prisma.$queryRaw<AccountRow[]>`SELECT ${COLUMNS} FROM provider_accounts WHERE id = ${id}`;
    if (!row) return undefined;
    const { provider, merchant_id: merchantId, settings, disabled_at } = row;
    const values = { ...settings.values, ...this.credentials(row) };
    return { id, merchantId, provider, values, sources: settings.sources, isDisabled: disabled_at !== null };
  }

  private credentials(row: AccountRow): Record<string, string> {
    const text = open(row.credentials_sealed, credentialsOwner(row.id), this.settings.SECRETS_KEY);
    return JSON.parse(text) as Record<string, string>;
  }

  private sealed(id: string, credentials: Record<string, string>): Uint8Array {
    return seal(JSON.stringify(credentials), credentialsOwner(id), this.settings.SECRETS_KEY);
  }

  private async check(
    provider: ProviderCode,
    given: Record<string, string>,
    sources: readonly string[],
    isWhole: boolean,
  ): Promise<void> {
    const faults = accountFaults(provider, given, isWhole);
    for (const [name, value] of Object.entries(given)) {
      if (!name.endsWith('_url') || faults.length > 0) continue;
      const verdict = await this.guard.check(value);
      const reason = verdict.kind === 'allowed' ? this.unlistedReason(verdict.url) : verdict.reason;
      if (reason === null) continue;
      faults.push({ pointer: `/settings/${name}`, code: 'address_not_allowed', detail: reason });
    }
    sources.forEach((source, index) => {
      if (parseCidr(source).kind !== 'invalid') return;
      faults.push({
        pointer: `/sources/${String(index)}`,
        code: 'invalid_format',
        detail: 'must be a network, a.b.c.d/n',
      });
    });
    if (faults.length > 0) throw Problem.fromErrors(faults);
  }

  private unlistedReason(url: URL): string | null {
    return this.settings.PROVIDER_HOSTS.has(url) ? null : 'the host is not in PROVIDER_HOSTS';
  }

  private view(row: AccountRow): AccountView {
    return {
      id: row.id,
      provider: row.provider,
      name: row.name,
      settings: row.settings.values,
      secrets: row.settings.secrets,
      sources: row.settings.sources,
      callback_url: callbackUrl(this.settings.PUBLIC_URL, row.provider, row.id),
      health: healthOf(row),
      disabled_at: row.disabled_at?.toISOString() ?? null,
      created_at: row.created_at.toISOString(),
    };
  }
}

function healthOf({ health }: AccountRow): AccountHealth {
  if (!health) return { status: 'up', since: null, detail: null };
  const { is_down: isDown, since, detail } = health;
  return { status: isDown ? 'down' : 'up', since: new Date(since).toISOString(), detail: isDown ? detail : null };
}

export function callbackUrl(publicUrl: string, provider: string, accountId: string): string {
  return `${publicUrl.replace(/(?<!\/)\/+$/, '')}/v1/providers/${provider}/${accountId}`;
}

function accountFaults(provider: ProviderCode, given: Record<string, string>, isWhole: boolean): ProblemError[] {
  const definition = DEFINITIONS[provider];
  const faults = settingFaults(provider, definition.fields, given, { isWhole });
  if (!isWhole) return faults;
  for (const { field, detail, code = 'required' } of definition.faults?.(reader({ provider, values: given })) ?? [])
    faults.push({ pointer: `/settings/${field}`, code, detail });
  return faults;
}

/** Its provider is simulated: no address, no secret, and no one who calls. @throws Problem 422 */
function refuseInSandbox(merchantId: string, { settings, sources }: AccountInput): void {
  if (!isTestId(merchantId)) return;
  const detail = 'The provider of a sandbox is simulated: its account takes no settings and no sources.';
  if (Object.keys(settings ?? {}).length > 0) throw Problem.at('/settings', 'invalid_value', detail);
  if ((sources ?? []).length > 0) throw Problem.at('/sources', 'invalid_value', detail);
}

/** For the trail: everything but when it was made. */
function audited({ id: _id, created_at: _at, health: _health, ...rest }: AccountView): Record<string, unknown> {
  return { ...rest, secrets: undefined, secret_names: rest.secrets };
}
