import { randomBytes } from 'node:crypto';

interface Card {
  number: string;
  expire: string;
  token: string;
  recurrent: boolean;
  verify: boolean;
}

type Params = Record<string, unknown>;
export type CardResult = { result: unknown } | { error: { code: number; message: string } };

/** What every customer is sent, as in Payme's sandbox. */
const CODE = '666666';
/** The sandbox's own cards. */
const KNOWN_CARDS = /^(8600495473316478|8600069195406311)$/;
/** What the merchant's page may ask, with the cashbox's id alone. */
const BY_PAGE: ReadonlySet<string> = new Set(['cards.create', 'cards.get_verify_code', 'cards.verify', 'cards.check']);

/**
 * cards.* of the Subscribe API: asked by the merchant's page, so that a card's number goes from the customer to Payme and
 * to no other program; the gateway gets the token.
 */
export class PaymeCards {
  private readonly cards = new Map<string, Card>();

  /** @param auth `<cashbox>` of a page, `<cashbox>:<key>` of a server */
  handle(method: string, params: Params, auth: string): CardResult {
    const isServer = /^[^:]+:.+/.test(auth);
    if (auth === '' || (!isServer && !BY_PAGE.has(method))) return failed(-32504, 'privilege');
    if (method === 'cards.create') return this.create(params);
    const card = this.cards.get(String(params['token']));
    if (!card) return failed(-31400, 'no such card');
    switch (method) {
      case 'cards.get_verify_code':
        return { result: { sent: true, phone: '99890*****67', wait: 60_000 } };
      case 'cards.verify':
        if (params['code'] !== CODE) return failed(-31103, 'wrong code');
        card.verify = true;
        return shown(card);
      case 'cards.check':
        return shown(card);
      case 'cards.remove':
        this.cards.delete(card.token);
        return { result: { success: true } };
      default:
        return failed(-32601, method);
    }
  }

  /** Whether money may be taken by it. A token that was not made here comes from a test, and is good. */
  isGood(token: unknown): boolean {
    const isOurs = /^[0-9a-f]{48}$/.test(String(token));
    return !isOurs || this.cards.get(String(token))?.verify === true;
  }

  private create(params: Params): CardResult {
    const { number, expire } = (params['card'] ?? {}) as { number?: unknown; expire?: unknown };
    if (!KNOWN_CARDS.test(String(number)) || !/^(0[1-9]|1[0-2])\d\d$/.test(String(expire)))
      return failed(-31300, 'no such card');
    const digits = String(number);
    const card = {
      ...{ number: `${digits.slice(0, 6)}******${digits.slice(-4)}`, token: randomBytes(24).toString('hex') },
      ...{ expire: `${String(expire).slice(0, 2)}/${String(expire).slice(2)}`, recurrent: params['save'] === true },
      verify: false,
    };
    this.cards.set(card.token, card);
    return shown(card);
  }
}

function shown(card: Card): CardResult {
  return { result: { card } };
}

function failed(code: number, message: string): CardResult {
  return { error: { code, message } };
}
