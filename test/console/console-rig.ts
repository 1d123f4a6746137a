import type { Browser, BrowserContext, Page } from 'playwright-core';
import { PrismaService } from '#database';
import { startBrowser } from '../screen/start-browser.js';
import type { GatewayClient } from '../system/gateway-client.js';
import { startSystem, type TestSystem } from '../system/system.js';
import { SCOPES } from '../../apps/gateway/src/http/scopes.js';

export const LANGUAGES = ['ru', 'uz', 'en'] as const;
export const THEMES = ['light', 'dark'] as const;
/** Becomes true when a text of a merchant or buyer is run as a script. */
export const HOSTILE = `<img src=x onerror="window.__ran=1"><script>window.__ran=1</script>"'\`\${7*7}{{7*7}}javascript:alert(1)`;

export interface View {
  language?: (typeof LANGUAGES)[number];
  theme?: (typeof THEMES)[number];
  width?: number;
  height?: number;
  scopes?: readonly string[];
}

/** A whole system, and a browser before it. */
export class ConsoleRig {
  private constructor(
    readonly system: TestSystem,
    readonly browser: Browser,
    readonly client: GatewayClient,
  ) {}

  static async start(env: Record<string, string> = {}): Promise<ConsoleRig> {
    const system = await startSystem({
      registers: 2,
      env,
      scopes: SCOPES,
      // A register that does not answer becomes a case for a person within seconds.
      profile: { settleMs: 500, parkAfterMs: 4_000, callTimeoutMs: 2_000 },
    });
    try {
      const browser = await startBrowser();
      return new ConsoleRig(system, browser, system.client);
    } catch (error) {
      await system.stop();
      throw error;
    }
  }

  get url(): string {
    const [url] = this.system.gatewayUrls;
    if (url === undefined) throw new Error('no gateway');
    return url;
  }

  /** Where people log in: browsers give an address no passkey. */
  get consoleUrl(): string {
    return `${this.url.replace('127.0.0.1', 'localhost')}/console`;
  }

  /** A browser of its own for one person who is not logged in. */
  async person(others: readonly string[] = []): Promise<Visitor> {
    const context = await this.browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
    return new Visitor(context, await context.newPage(), this.consoleUrl.replace('/console', ''), others);
  }

  /** The database behind the system, for what no call can do: letting time pass. */
  database(): PrismaService {
    return new PrismaService({
      url: this.system.database.ownerUrl,
      poolSize: 2,
      applicationName: 'console-test',
      lockTimeoutMs: 60_000,
      connectTimeoutMs: 60_000,
    });
  }

  /** A browser of its own for one client of the API, whose token every request carries. */
  async visitor({ language = 'en', theme = 'light', width = 1440, height = 900, scopes }: View = {}): Promise<Visitor> {
    const token = await this.client.fetchToken(scopes?.join(' '));
    const context = await this.browser.newContext({
      viewport: { width, height },
      locale: { ru: 'ru-RU', uz: 'uz-UZ', en: 'en-US' }[language],
      extraHTTPHeaders: { authorization: `Bearer ${token}` },
      acceptDownloads: true,
    });
    const kept = { 'console-language': language, 'console-theme': theme };
    await context.addInitScript(`Object.assign(localStorage, ${JSON.stringify(kept)})`);
    return new Visitor(context, await context.newPage(), this.url);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.system.stop();
  }
}

/** One person's page, with everything that must never happen on it. */
export class Visitor {
  /** Requests that left the gateway, refused scripts, and failures of the page itself. */
  readonly trouble: string[] = [];

  constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly url: string,
    /** Where a login may lead to: the identity provider. */
    private readonly others: readonly string[] = [],
  ) {
    page.setDefaultTimeout(90_000);
    page.on('request', (request) => {
      const address = request.url();
      if (![url, ...this.others].some((allowed) => address.startsWith(allowed)) && !address.startsWith('blob:'))
        this.trouble.push(`asked for ${address}`);
    });
    page.on('pageerror', (error) => this.trouble.push(`page failed: ${error.message}`));
    page.on('console', (message) => {
      if (/Content Security Policy|TrustedHTML|Trusted Type/i.test(message.text())) this.trouble.push(message.text());
    });
  }

  /** A new tab of the same browser. */
  async newTab(): Promise<Visitor> {
    return new Visitor(this.context, await this.context.newPage(), this.url, this.others);
  }

  /** Opens a screen and waits until what it loads is there. */
  async open(path: string): Promise<void> {
    await this.page.goto(`${this.url}/console${path}`);
    await this.settled();
  }

  async settled(): Promise<void> {
    await this.page.locator('main').first().waitFor();
    await this.page.locator('main .state .spinner').first().waitFor({ state: 'detached' });
  }

  hasRun(): Promise<boolean> {
    return this.page.evaluate(`'__ran' in window`);
  }

  end(): Promise<void> {
    return this.context.close();
  }
}

/** When the day began in Tashkent, which keeps UTC+5 all year. */
export function startOfToday(): string {
  const offsetMs = 5 * 3_600_000;
  return `${new Date(Date.now() + offsetMs).toISOString().slice(0, 10)}T00:00:00%2B05:00`;
}
