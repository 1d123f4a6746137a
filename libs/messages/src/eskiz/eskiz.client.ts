import { briefly, jsonOf, textAt, type Reach, type WireAnswer } from '../exchange.js';
import { multipart } from '../multipart.js';
import type { MessageQuestion, MessageSender, OutgoingMessage, SendOutcome, StatusOutcome } from '../port.js';
import { eskizFind, eskizSent, eskizStatusById } from './eskiz.transform.js';
import { isObject } from '#fiscal-domain';

export interface EskizOptions {
  /** `https://notify.eskiz.uz` */
  apiUrl: string;
  email: string;
  password: string;
  /** A number or nick that Eskiz has given the merchant. */
  from: string;
}

type Token = { kind: 'token'; token: string } | Extract<SendOutcome, { kind: 'account_refused' | 'not_now' }>;

const DAY_MS = 86_400_000;
const PAGE_SIZE = '200';
/** Of the messages around the time of the try; more would be another installation's account. */
const MAX_PAGES = 10;
const UNAUTHORIZED = 401;

/**
 * Eskiz. One message goes by `send-batch`, because there alone it may carry our id (`user_sms_id`): by that it is found when the
 * answer was lost.
 */
export class EskizClient implements MessageSender {
  private token: string | null = null;

  constructor(
    private readonly options: EskizOptions,
    private readonly reach: Reach,
  ) {}

  async send({ id, to, text, callbackUrl }: OutgoingMessage): Promise<SendOutcome> {
    const body = JSON.stringify({
      messages: [{ user_sms_id: id, to, text }],
      from: this.options.from,
      ...(callbackUrl !== null && { callback_url: callbackUrl }),
    });
    const answer = await this.authorized((token) =>
      this.reach.http({
        ...{ method: 'POST', url: `${this.options.apiUrl}/api/message/sms/send-batch`, body },
        headers: { ...bearer(token), 'content-type': 'application/json' },
      }),
    );
    return isWire(answer) ? eskizSent(answer) : answer;
  }

  async ask(question: MessageQuestion): Promise<StatusOutcome> {
    return question.providerRef === null ? this.find(question) : this.statusOf(question.providerRef);
  }

  private async statusOf(ref: string): Promise<StatusOutcome> {
    const url = `${this.options.apiUrl}/api/message/sms/status_by_id/${encodeURIComponent(ref)}`;
    const answer = await this.authorized((token) => this.reach.http({ method: 'GET', url, headers: bearer(token) }));
    return isWire(answer) ? eskizStatusById(answer) : { kind: 'unanswered', detail: answer.detail };
  }

  /** The documents do not say in whose time the bounds are: a day on either side. */
  private async find(question: MessageQuestion): Promise<StatusOutcome> {
    const at = question.triedAt.getTime();
    const form = multipart({
      start_date: minuteOf(at - DAY_MS),
      to_date: minuteOf(at + DAY_MS),
      page_size: PAGE_SIZE,
    });
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const url = `${this.options.apiUrl}/api/message/sms/get-user-messages?page=${String(page)}`;
      const answer = await this.authorized((token) =>
        this.reach.http({ method: 'POST', url, headers: { ...bearer(token), ...form.headers }, body: form.body }),
      );
      if (!isWire(answer)) return { kind: 'unanswered', detail: answer.detail };
      const read = eskizFind(answer, question);
      if (read.kind === 'unanswered') return read;
      if (read.found) return read.found;
      if (!read.hasMore) return { kind: 'not_found' };
    }
    return { kind: 'unanswered', detail: 'more messages than are searched' };
  }

  /** A token lives 30 days; one that is refused has done nothing, and the call is made once more with a new one. */
  private async authorized(
    call: (token: string) => Promise<WireAnswer>,
  ): Promise<WireAnswer | Exclude<Token, { kind: 'token' }>> {
    const known = this.token;
    if (known !== null) {
      const answer = await call(known);
      if (!isUnauthorized(answer)) return answer;
      this.token = null;
    }
    const login = await this.login();
    if (login.kind !== 'token') return login;
    this.token = login.token;
    const answer = await call(login.token);
    if (!isUnauthorized(answer)) return answer;
    return { kind: 'account_refused', code: 'HTTP 401', detail: 'a new token is not accepted' };
  }

  /** Asked for twice it makes two tokens: nothing of it can be unclear. */
  private async login(): Promise<Token> {
    const { apiUrl, email, password } = this.options;
    const form = multipart({ email, password });
    const answer = await this.reach.http({ method: 'POST', url: `${apiUrl}/api/auth/login`, ...form });
    if (answer.kind !== 'answered') {
      return { kind: 'not_now', code: 'login', detail: answer.detail, retryAfterMs: null };
    }
    const { status, text } = answer;
    const body = jsonOf(text);
    const token = textAt(isObject(body) ? body['data'] : undefined, 'token');
    if (status >= 200 && status < 300 && token !== null) return { kind: 'token', token };
    const detail = briefly(textAt(body, 'message') ?? text);
    const code = `HTTP ${String(status)}`;
    const isRefused = status >= 400 && status < 500 && status !== 429 && status !== 408;
    return isRefused
      ? { kind: 'account_refused', code, detail }
      : { kind: 'not_now', code, detail, retryAfterMs: null };
  }
}

function isWire(answer: WireAnswer | Exclude<Token, { kind: 'token' }>): answer is WireAnswer {
  return answer.kind === 'answered' || answer.kind === 'unsent' || answer.kind === 'unknown';
}

function isUnauthorized(answer: WireAnswer): boolean {
  return answer.kind === 'answered' && answer.status === UNAUTHORIZED;
}

function bearer(token: string): Record<string, string> {
  return { accept: 'application/json', authorization: `Bearer ${token}` };
}

/** `2026-01-02 03:04` */
function minuteOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}
