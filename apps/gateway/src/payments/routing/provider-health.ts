import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { acrossMerchants, Prisma, SalesDatabase } from '#database';
import { insertEvents } from '#ledger';
import type { CallOutcome, ProviderCode } from '#payments';
import { growingCache, Metrics, newId, Periodic, systemClock, type Clock, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';

/** So many calls of one account without an answer, with no answer between them, and it counts as down. */
const FAILURES = 3;
/** For so long after its last failure other providers are taken before it; then it is tried again in its own place. */
export const DOWN_SECONDS = 60;
const READ_EVERY_MS = 10_000;
/** One account is written at most this often by one process. */
const WRITE_EVERY_MS = 5_000;
const MAX_ACCOUNTS = 5_000;

interface CalledAccount {
  id: string;
  merchantId: string;
  provider: ProviderCode;
}

/**
 * Whether providers answer, by account: a key that was revoked concerns one merchant, an outage each of them. While all answer nothing
 * is written; what changes is one row and its event, `provider_account.down` or `provider_account.up`, once among all gateways.
 */
@Injectable()
export class ProviderHealth implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly failures = growingCache<string, number>(MAX_ACCOUNTS);
  private readonly writtenMs = growingCache<string, number>(MAX_ACCOUNTS);
  /** Whether what an account asked last came back with an answer that could be read, whatever it said. */
  private readonly lastAnswered = growingCache<string, boolean>(MAX_ACCOUNTS);
  /** Why accounts are down, where a call has said it since it was last written here. */
  private readonly unwritten = growingCache<string, { account: CalledAccount; detail: string }>(MAX_ACCOUNTS);
  /** Down by the database, as read lately or written here. */
  private down = new Map<string, ProviderCode>();
  private readonly rounds: Periodic;
  private readonly clock: Clock = systemClock;

  constructor(
    private readonly prisma: SalesDatabase,
    metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const run = async (): Promise<void> => {
      await this.writeReasons();
      await this.read();
    };
    this.rounds = new Periodic({ name: 'reading the health of providers', everyMs: READ_EVERY_MS, run }, logger);
    metrics.gauge(
      {
        name: 'provider_accounts_down',
        help: 'Accounts at payment providers that have not answered three calls in a row',
        labels: ['provider'],
        together: 'max',
      },
      (gauge) => {
        gauge.reset();
        for (const provider of this.down.values()) gauge.inc({ provider });
      },
    );
  }

  onApplicationBootstrap(): void {
    this.rounds.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.rounds.stop();
  }

  /** @param isAnswer something that can be read came back, and no error of the server's own */
  answered(accountId: string, isAnswer: boolean): void {
    this.lastAnswered.set(accountId, isAnswer);
  }

  /** Never rejects: what could not be written is written with the next call. */
  async note(account: CalledAccount, outcome: CallOutcome): Promise<void> {
    const { id } = account;
    const detail = this.failureOf(id, outcome);
    const failures = detail === null ? 0 : (this.failures.get(id) ?? 0) + 1;
    if (failures === 0) this.failures.delete(id);
    else this.failures.set(id, failures);
    if (detail === null) this.unwritten.delete(id);
    const isNews = detail === null ? this.down.has(id) : failures >= FAILURES;
    if (!isNews) return;
    if (!this.mayWrite(id, detail === null)) {
      // Others are taken before it from now on: this may be the last call for a while that says why.
      if (detail !== null) this.unwritten.set(id, { account, detail });
      return;
    }
    this.unwritten.delete(id);
    try {
      await (detail === null ? this.writeUp(account) : this.writeDown(account, detail));
    } catch (error) {
      this.logger.warn({ account_id: id, err: error }, 'provider health: not written');
    }
  }

  private async writeReasons(): Promise<void> {
    for (const [id, { account, detail }] of [...this.unwritten.entries()]) {
      this.unwritten.delete(id);
      await this.writeDown(account, detail);
    }
  }

  private mayWrite(id: string, isUp: boolean): boolean {
    const nowMs = this.clock.monotonicMs();
    const lastMs = this.writtenMs.get(id);
    if (!isUp && lastMs !== undefined && nowMs - lastMs < WRITE_EVERY_MS) return false;
    this.writtenMs.set(id, nowMs);
    return true;
  }

  private async writeDown({ id, merchantId, provider }: CalledAccount, detail: string): Promise<void> {
    const data = Prisma.sql`jsonb_build_object('account_id', account_id, 'provider', ${provider}::text, 'reason', detail)`;
    const noted = insertEvents(Prisma.sql`
      SELECT ${newId('evt')}, merchant_id, 'provider_account.down', account_id, ${data} FROM marked WHERE since = failed_at`);
    await this.prisma.$executeRaw`
      WITH marked AS (
        INSERT INTO provider_health AS h (account_id, merchant_id, is_down, since, failed_at, detail)
        VALUES (${id}, ${merchantId}, true, now(), now(), ${detail})
        ON CONFLICT (account_id) DO UPDATE
          SET is_down = true, failed_at = now(), detail = excluded.detail, since = CASE WHEN h.is_down THEN h.since ELSE now() END
        RETURNING account_id, merchant_id, since, failed_at, detail)
      ${noted}`;
    this.down.set(id, provider);
  }

  private async writeUp({ id, provider }: CalledAccount): Promise<void> {
    const data = Prisma.sql`jsonb_build_object('account_id', account_id, 'provider', ${provider}::text)`;
    const noted = insertEvents(Prisma.sql`
      SELECT ${newId('evt')}, merchant_id, 'provider_account.up', account_id, ${data} FROM marked`);
    await this.prisma.$executeRaw`
      WITH marked AS (
        UPDATE provider_health SET is_down = false, since = now() WHERE account_id = ${id} AND is_down
        RETURNING account_id, merchant_id)
      ${noted}`;
    this.down.delete(id);
  }

  private async read(): Promise<void> {
    const rows = await acrossMerchants(
      async () =>
        this.prisma.$queryRaw<{ account_id: string; provider: ProviderCode }[]>`
        SELECT h.account_id, a.provider FROM provider_health h JOIN provider_accounts a ON a.id = h.account_id
         WHERE h.is_down ORDER BY h.failed_at DESC LIMIT ${MAX_ACCOUNTS}::int4`,
    );
    this.down = new Map(rows.map(({ account_id: id, provider }) => [id, provider]));
  }

  /**
   * Why a call counts as one that was not answered; null: it was, whatever the answer. An answer that leaves the money in doubt (a code
   * outside of the provider's list, a refusal of what may have happened) is `unknown` for the payment, and yet an answer.
   */
  private failureOf(id: string, outcome: CallOutcome): string | null {
    if (outcome.kind === 'unknown') return this.lastAnswered.get(id) === true ? null : outcome.detail.slice(0, 200);
    // Refused for their number, it is there; and for the number of one merchant's calls the next are not to be held back.
    return outcome.kind === 'unsent' && outcome.isTooOften !== true ? outcome.detail.slice(0, 200) : null;
  }
}
