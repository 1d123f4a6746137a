import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { LinkAgent, LinkKeyError, readLinkUrl } from '#link';
import { observeRequests } from '#http';
import { SettingsError, type Logger, type Metrics } from '#runtime';
import { Classifier } from './classifier/classifier.js';
import { localApiServer } from './server.js';
import { openRegister, type Register } from './register.js';
import type { RegisterSettings } from './settings.js';

interface Served {
  readonly register: Register;
  readonly server: FastifyInstance;
}

/** Page cache of one emulated register among many: 64 pages of 4 KiB. */
const SMALL_CACHE_PAGES = 64;

/** Opens the registers of this process, one as a rule, many as an emulator, and serves each on its own port. */
export class RegisterHost {
  private readonly served: Served[] = [];
  private agent: LinkAgent | null = null;

  constructor(
    private readonly settings: RegisterSettings,
    private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  /** Documents that the OFD does not have yet, of all registers of this process. */
  get unsentDocuments(): number {
    return this.served.reduce((sum, { register }) => sum + register.module.info().unsentReceipts, 0);
  }

  /** @returns the base URL of each register */
  async start(): Promise<string[]> {
    const classifier = Classifier.load(this.settings.CLASSIFIER_FILE);
    const urls: string[] = [];
    for (let index = 0; index < this.settings.EMULATOR_REGISTERS; index += 1) {
      urls.push(await this.serve(classifier, index));
    }
    this.dialOut();
    return urls;
  }

  /** Calls in hand are finished, then the journals are closed. */
  async stop(): Promise<void> {
    await this.agent?.stop();
    await Promise.all(this.served.map(({ server }) => server.close()));
    for (const { register } of this.served) register.close();
  }

  /**
   * With LINK_URL: calls come over the link to the register's own port, exactly as from the shop's network, so that what a
   * broken connection means is the same for both.
   * @throws SettingsError
   */
  private dialOut(): void {
    const {
      LINK_URL,
      LINK_ENROLMENT_CODE: enrolmentCode,
      LINK_ALLOW_INSECURE: allowInsecure,
      DATA_DIR,
    } = this.settings;
    const address = this.served[0]?.server.server.address();
    if (LINK_URL === undefined || typeof address !== 'object' || address === null) return;
    // Listening on all addresses includes loopback; on one alone, it is that one.
    const isWildcard = ['0.0.0.0', '::'].includes(address.address);
    const host = isWildcard ? '127.0.0.1' : address.family === 'IPv6' ? `[${address.address}]` : address.address;
    const registerUrl = `http://${host}:${address.port}`;
    try {
      const target = readLinkUrl(LINK_URL, { allowInsecure });
      this.agent = new LinkAgent({ target, registerUrl, dataDir: DATA_DIR, enrolmentCode, logger: this.logger });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const isKey = error instanceof LinkKeyError;
      throw new SettingsError([
        isKey
          ? { key: 'DATA_DIR', fault: `is unusable: ${message}` }
          : { key: 'LINK_URL', fault: `must be ${message}` },
      ]);
    }
    this.agent.start();
  }

  private async serve(classifier: Classifier, index: number): Promise<string> {
    const { settings, logger } = this;
    const { REGISTER_PORT: firstPort, REGISTER_HOST: host, EMULATOR_REGISTERS: count } = settings;
    const register = openRegister(
      count === 1 ? { settings, classifier, logger } : { classifier, logger, ...emulatedRegister(settings, index) },
    );
    const server = localApiServer(register, () => this.served.map((one) => one.register));
    observeRequests(server, this.metrics);
    this.served.push({ register, server });
    return server.listen({ port: firstPort === 0 ? 0 : firstPort + index, host });
  }
}

/** Each emulated register has its own folder and terminal; a given API key opens them all. */
function emulatedRegister(
  settings: RegisterSettings,
  index: number,
): { settings: RegisterSettings; folder: string; cachePages: number } {
  const number = String(index + 1).padStart(5, '0');
  const base = settings.REGISTER_TERMINAL_ID;
  const terminalId = base && `${base.slice(0, 2)}${String(Number(base.slice(2)) + index).padStart(12, '0')}`;
  return {
    settings: { ...settings, REGISTER_TERMINAL_ID: terminalId },
    folder: join(settings.DATA_DIR, `register-${number}`),
    cachePages: SMALL_CACHE_PAGES,
  };
}
