import { Inject, Injectable } from '@nestjs/common';
import { PeriodicProvider, type Logger } from '#runtime';
import type { GatewaySettings } from '../../../settings.js';
import { LOGGER, SETTINGS_TOKEN } from '../../../tokens.js';
import { AccessNotices } from '../../live/access-notices.js';
import { textOfHash, TrustedCache } from '../../live/trusted-cache.js';
import type { LiveSession } from './live-session.js';
import { hashSessionToken, looksLikeSessionToken } from './session-token.js';
import { SessionRepository } from './session.repository.js';

/** A session that is used says so at most this often. */
const TOUCH_MS = 60_000;
const SWEEP_MS = 3_600_000;

/** Whose session a cookie's value is. What was taken away counts for nothing within a second, as with tokens. */
@Injectable()
export class Sessions extends PeriodicProvider {
  private readonly cache: TrustedCache<Buffer, LiveSession>;
  private readonly touchMs: number;
  constructor(
    notices: AccessNotices,
    private readonly repository: SessionRepository,
    @Inject(SETTINGS_TOKEN) { SESSION_IDLE_SECONDS }: Pick<GatewaySettings, 'SESSION_IDLE_SECONDS'>,
    @Inject(LOGGER) logger: Logger,
  ) {
    super(
      {
        ...{ name: 'sweeping ended sessions and invitations', everyMs: SWEEP_MS, startsAfterMs: SWEEP_MS },
        run: () => repository.sweep(),
      },
      logger,
    );
    this.cache = new TrustedCache(notices, textOfHash, (hash) => repository.findLive(hash));
    this.touchMs = Math.min(TOUCH_MS, SESSION_IDLE_SECONDS * 250);
    notices.subscribe({
      onNotice: ({ what, name }) => this.receive(what, name),
      onListening: () => this.cache.forgetAll(),
    });
  }

  /** @param isUse false: a page asks by itself, which keeps no session open */
  async find(token: string, isUse: boolean): Promise<LiveSession | null> {
    const session = await this.cache.find(hashSessionToken(token), looksLikeSessionToken(token));
    if (session && isUse && Date.now() - session.lastSeenMs >= this.touchMs) {
      session.lastSeenMs = Date.now();
      await this.repository.touch(session.sessionId);
    }
    return session;
  }

  forget(token: string): void {
    this.cache.forget(hashSessionToken(token));
  }

  /** What is no word of ours makes every cached entry unsafe. */
  private receive(what: string, name: string): void {
    if (what === 'session') this.cache.forget(Buffer.from(name, 'hex'));
    else if (what === 'user') this.cache.forgetWhere(({ userId }) => userId === name);
    else if (what !== 'client' && what !== 'token') this.cache.forgetAll();
  }
}
