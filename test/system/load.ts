import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '#runtime';
import type { Answer, GatewayClient } from './gateway-client.js';

export interface Sold {
  key: string;
  till: number;
  /** The last answer that the client received. */
  answer: Answer;
  /** How often it had to ask. */
  tries: number;
  /** What it was answered before: refusals as "status code", lost connections as the error's code. */
  setbacks: string[];
}

const GIVE_UP_MS = 90_000;
/** Between two sales of one seller: a machine that is busy selling has no time to start what was killed. */
const BREATH_MS = 40;

/** Sells once: asks again with the same key until it is answered, as clients should. */
export async function sellStubbornly(
  client: GatewayClient,
  sale: { till: number; key?: string; prefer?: string },
): Promise<Sold> {
  const { till, key = newId('evt'), prefer = 'wait=5' } = sale;
  const deadline = Date.now() + GIVE_UP_MS;
  const setbacks: string[] = [];
  for (let tries = 1; ; tries += 1) {
    const reply = await client
      .post('/v1/receipts', client.saleOf(till), { 'idempotency-key': key, prefer })
      .then((answer) => ({ answer }))
      .catch((error: unknown) => ({ error }));
    if ('answer' in reply && [201, 202].includes(reply.answer.status)) {
      return { key, till, answer: reply.answer, tries, setbacks };
    }
    if (Date.now() > deadline) throw new Error(`key ${key} was never accepted`, { cause: reply });
    setbacks.push('answer' in reply ? `${reply.answer.status} ${reply.answer.body.code}` : codeOf(reply.error));
    if ('answer' in reply) expectRetryable(reply.answer);
    await delay(50 + Math.random() * 100);
  }
}

/** fetch says "fetch failed"; what failed is its cause. */
function codeOf(error: unknown): string {
  const { cause, name } = error as { cause?: { code?: string }; name?: string };
  return cause?.code ?? name ?? 'unknown';
}

/** Whatever is refused in an outage must say that asking again makes sense. */
function expectRetryable({ status, body }: Answer): void {
  expect({ status, body }).toMatchObject({ body: { retryable: true } });
}

/** `perTill` clients at each till sell one after the other until stopped. */
export function sellUntil(
  client: GatewayClient,
  load: { tills: number; perTill: number; prefer?: string },
  isEnough: () => boolean,
): Promise<Sold[]> {
  const sellers = Array.from({ length: load.tills * load.perTill }, async (_, index) => {
    const sold: Sold[] = [];
    while (!isEnough()) {
      const { prefer } = load;
      sold.push(await sellStubbornly(client, { till: index % load.tills, ...(prefer && { prefer }) }));
      await delay(BREATH_MS);
    }
    return sold;
  });
  return Promise.all(sellers).then((lists) => lists.flat());
}
