import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { violationsOf, type HttpProvider } from './message-schemas.js';

/** What goes wrong with a call that would send a message. */
export type SendFault =
  | 'drop_request'
  | 'drop_answer'
  | 'half_answer'
  | 'late_answer'
  | 'error_before'
  | 'error_after'
  | 'refuse'
  | 'too_often';

/** A message that the provider has taken on: what a buyer gets. */
export interface TakenMessage {
  /** Ours, where the provider's call carries one. */
  id: string | null;
  ref: string;
  to: string;
  text: string;
  callbackUrl: string | null;
}

interface WireAnswer {
  status: number;
  body: unknown;
}

export const ACCOUNT = {
  ...{ email: 'shop@example.uz', login: 'shop', password: 'right-password', from: '4546' },
  ...{
    bot: 'receipts_test_bot',
    token: '123456789:AAEhBP0av28bEYP6nVxC4u1dBwq1dQsm0Ck',
    webhookSecret: 'w'.repeat(32),
  },
} as const;

/**
 * An SMS provider or Telegram, written from its schema file: every exchange is held against it. What the documents leave open does
 * what hurts the gateway more: a second message with the same id is sent once more.
 */
export class SimulatedProvider {
  readonly taken: TakenMessage[] = [];
  readonly violations: string[] = [];
  /** One for each call that sends, the first first; then none. */
  faults: SendFault[] = [];
  /** A share of calls that go wrong, drawn by `chance`. */
  chaos: { share: number; faults: readonly SendFault[]; chance: () => number } | null = null;
  lateMs = 3_000;
  password: string = ACCOUNT.password;
  /** Eskiz: what its listing shows; a message stands there at once unless this says otherwise. */
  hidesMessages = false;
  calls = 0;
  private token = randomUUID();
  private readonly states = new Map<string, string>();

  private constructor(
    readonly provider: HttpProvider,
    private readonly server: Server,
  ) {}

  static async start(provider: HttpProvider): Promise<SimulatedProvider> {
    const server = createServer();
    const simulated = new SimulatedProvider(provider, server);
    server.on('request', (request, response) => void simulated.serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return simulated;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  /** Tokens of before are not accepted any more. */
  expireTokens(): void {
    this.token = randomUUID();
  }

  setState(ref: string, state: string): void {
    this.states.set(ref, state);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(request);
    const url = new URL(request.url ?? '/', 'http://simulated');
    const body = readBody(request.headers['content-type'] ?? '', text);
    const isSending = /\/(send-batch|broker-api\/send|sendMessage)$/.test(url.pathname);
    const fault = isSending ? this.nextFault() : null;
    if (isSending) this.calls += 1;
    if (fault === 'drop_request') {
      request.socket.destroy();
      return;
    }
    const early = fault === null ? null : earlyAnswer(this.provider, fault);
    const answer =
      early ??
      this.answer({
        method: request.method ?? '',
        path: url.pathname,
        headers: request.headers,
        body,
        page: url.searchParams.get('page'),
      });
    this.check(request.method ?? '', url.pathname, body, answer);
    await this.reply(response, answer, fault);
  }

  private async reply(response: ServerResponse, answer: WireAnswer, fault: SendFault | null): Promise<void> {
    if (fault === 'drop_answer') {
      response.socket?.destroy();
      return;
    }
    if (fault === 'late_answer') await new Promise((resolve) => setTimeout(resolve, this.lateMs));
    const isLost = fault === 'error_after';
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
    response.writeHead(isLost ? 502 : answer.status, {
      'content-type': 'application/json',
      ...(fault === 'half_answer' && { 'content-length': String(text.length + 100) }),
    });
    if (fault === 'half_answer') {
      response.write(text.slice(0, text.length / 2), () => response.socket?.destroy());
      return;
    }
    response.end(isLost ? '<html>bad gateway</html>' : text);
  }

  private nextFault(): SendFault | null {
    const next = this.faults.shift();
    if (next !== undefined) return next;
    if (!this.chaos || this.chaos.chance() >= this.chaos.share) return null;
    const { faults, chance } = this.chaos;
    return faults[Math.floor(chance() * faults.length)] ?? null;
  }

  private check(method: string, path: string, request: unknown, { status, body }: WireAnswer): void {
    // What a broken server says no document says.
    if (status >= 500) return;
    const exchange = { provider: this.provider, by: 'us' as const, method, path, request, status, answer: body };
    this.violations.push(...violationsOf(exchange));
  }

  private answer(call: Call): WireAnswer {
    if (this.provider === 'eskiz') return this.eskiz(call);
    return this.provider === 'playmobile' ? this.playmobile(call) : this.telegram(call);
  }

  private eskiz({ path, headers, body, page }: Call): WireAnswer {
    const fields = body as Record<string, string>;
    if (path === '/api/auth/login') {
      if (fields['email'] !== ACCOUNT.email || fields['password'] !== this.password)
        return { status: 401, body: { message: 'Invalid credentials', status: 'error' } };
      return { status: 200, body: { message: 'token_generated', data: { token: this.token }, token_type: 'bearer' } };
    }
    if (headers.authorization !== `Bearer ${this.token}`)
      return { status: 401, body: { message: 'Expired', status: 'token-invalid' } };
    if (path === '/api/message/sms/send-batch') {
      const { messages, callback_url: callbackUrl } = body as {
        messages: { user_sms_id: string; to: string; text: string }[];
        callback_url?: string;
      };
      const ref = randomUUID();
      for (const { user_sms_id: id, to, text } of messages)
        this.taken.push({ id, ref, to, text, callbackUrl: callbackUrl ?? null });
      return { status: 200, body: { id: ref, message: 'Waiting for SMS provider', status: ['waiting'] } };
    }
    if (path.startsWith('/api/message/sms/status_by_id/')) {
      const found = this.taken.find(({ ref }) => ref === path.split('/').pop());
      if (!found) return { status: 404, body: { message: 'Not found', status: 'error' } };
      return { status: 200, body: { status: 'success', data: this.eskizEntry(found), id: null } };
    }
    const all = this.hidesMessages ? [] : this.taken;
    const size = Number(fields['page_size'] ?? '20');
    const number = Number(page ?? '1');
    const result = all.slice((number - 1) * size, number * size).map((message) => this.eskizEntry(message));
    const lastPage = Math.max(1, Math.ceil(all.length / size));
    return { status: 200, body: { status: 'success', data: { current_page: number, last_page: lastPage, result } } };
  }

  private eskizEntry({ id, ref, to, text }: TakenMessage): Record<string, unknown> {
    return {
      ...{ id: 1, user_sms_id: id, request_id: ref, price: 50, total_price: 50, to, message: text, encoding: 1 },
      ...{ parts_count: 1, status: this.states.get(ref) ?? 'ACCEPTED' },
    };
  }

  private playmobile({ headers, body }: Call): WireAnswer {
    const expected = `Basic ${Buffer.from(`${ACCOUNT.login}:${this.password}`).toString('base64')}`;
    if (headers.authorization !== expected)
      return { status: 401, body: { error_code: '102', error_description: 'Account lock' } };
    const { messages } = body as {
      messages: { recipient: string; 'message-id': string; sms: { content: { text: string } } }[];
    };
    for (const { recipient: to, 'message-id': id, sms } of messages)
      this.taken.push({ id, ref: id, to, text: sms.content.text, callbackUrl: null });
    return { status: 200, body: 'Request is received' };
  }

  private telegram({ path, body }: Call): WireAnswer {
    if (path !== `/bot${ACCOUNT.token}/sendMessage` || this.password !== ACCOUNT.password)
      return { status: 401, body: { ok: false, error_code: 401, description: 'Unauthorized' } };
    const { chat_id: to, text } = body as { chat_id: string; text: string };
    if (this.states.get(String(to)) === 'blocked')
      return {
        status: 403,
        body: { ok: false, error_code: 403, description: 'Forbidden: bot was blocked by the user' },
      };
    const number = this.taken.length + 1;
    this.taken.push({ id: null, ref: String(number), to: String(to), text, callbackUrl: null });
    return { status: 200, body: { ok: true, result: { message_id: number } } };
  }
}

interface Call {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: unknown;
  page: string | null;
}

/** Faults that end a call before anything is done. */
function earlyAnswer(provider: HttpProvider, fault: SendFault): WireAnswer | null {
  if (fault === 'error_before')
    return {
      status: 500,
      body: provider === 'telegram' ? { ok: false, error_code: 500, description: 'Internal' } : 'internal error',
    };
  if (fault === 'too_often') return { status: 429, body: tooOften(provider) };
  if (fault !== 'refuse') return null;
  if (provider === 'telegram')
    return { status: 400, body: { ok: false, error_code: 400, description: 'Bad Request: message text is empty' } };
  if (provider === 'playmobile')
    return { status: 400, body: { error_code: '404', error_description: 'Empty content' } };
  return { status: 400, body: { message: 'Text is not in approved templates', status: 'error' } };
}

function tooOften(provider: HttpProvider): unknown {
  if (provider === 'telegram')
    return { ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 7 } };
  return provider === 'playmobile' ? { error_code: '105', error_description: 'Too much IDs' } : { message: 'Too many' };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function readBody(contentType: string, text: string): unknown {
  if (text === '') return null;
  const boundary = /boundary=(\S+)/.exec(contentType)?.[1];
  if (boundary === undefined) return JSON.parse(text) as unknown;
  const parts = text.split(`--${boundary}`).slice(1, -1);
  return Object.fromEntries(
    parts.map((part) => {
      const [, name = '', value = ''] = /name="([^"]*)"\r\n\r\n([\s\S]*)\r\n$/.exec(part) ?? [];
      return [name, value];
    }),
  );
}
