import { request, type IncomingHttpHeaders } from 'node:http';
import type { Clock } from '#runtime';

export const PIN = '290417';

export interface Shown {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface VisitOptions {
  /** Sent instead of the real one. */
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A person with a browser, as far as HTTP shows: keeps cookies and the token of the form last seen. Follows no redirect. */
export class ScreenVisitor {
  readonly cookies = new Map<string, string>();
  formToken: string | null = null;

  constructor(
    /** Asked anew for each request: a restarted register has another port. */
    private readonly url: () => string,
    private readonly options: VisitOptions = {},
  ) {}

  get(path: string, options: VisitOptions = {}): Promise<Shown> {
    return this.send('GET', path, options);
  }

  /** Posts a form with the token of the last page, unless the fields name another (`''`: none). */
  post(path: string, fields: Record<string, string> = {}, options: VisitOptions = {}): Promise<Shown> {
    const form = new URLSearchParams({ form: this.formToken ?? '', ...fields });
    if (form.get('form') === '') form.delete('form');
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.send('POST', path, { ...options, headers: { ...type, ...options.headers } }, form.toString());
  }

  /** The PIN, and the start page behind it. */
  async logIn(pin = PIN): Promise<Shown> {
    await this.get('/');
    const entered = await this.post('/screen/login', { pin });
    return entered.status === 303 ? this.get('/') : entered;
  }

  /** Gives the register its first PIN; activates it if need be. */
  async settle(pin = PIN): Promise<Shown> {
    await this.get('/');
    const entered = await this.post('/screen/activate', { pin, again: pin });
    return entered.status === 303 ? this.get('/') : entered;
  }

  private send(method: string, path: string, options: VisitOptions, body = ''): Promise<Shown> {
    const target = new URL(path, this.url());
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const host = options.host ?? this.options.host ?? target.host;
    const headers = { host, ...(cookie !== '' && { cookie }), ...this.options.headers, ...options.headers };
    return new Promise((resolve, reject) => {
      const call = request(target, { method, headers, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('error', reject).on('end', () => {
          this.keep(response.headers, text);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      });
      call.on('error', reject).end(body);
    });
  }

  private keep(headers: IncomingHttpHeaders, text: string): void {
    for (const line of headers['set-cookie'] ?? []) {
      const [pair = ''] = line.split(';', 1);
      const [name = '', value = ''] = pair.split('=', 2);
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    this.formToken = /name="form" value="([^"]+)"/.exec(text)?.[1] ?? this.formToken;
  }
}

/** A clock whose wall and monotonic time a test moves together, as hours that pass do. */
export class PassingClock implements Clock {
  private offsetMs = 0;

  now(): Date {
    return new Date(Date.now() + this.offsetMs);
  }

  monotonicMs(): number {
    return performance.now() + this.offsetMs;
  }

  pass(lengthMs: number): void {
    this.offsetMs += lengthMs;
  }
}
