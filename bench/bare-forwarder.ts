import { Pool } from 'undici';

export interface Target {
  url: string;
  apiKey: string;
}

/**
 * What dispatch can cost at the very least: POSTs to each register one after the other, all registers at once, with
 * nothing stored. Answers receipts per second.
 */
export async function forwardBare(targets: readonly Target[], perTarget: number, body: string): Promise<number> {
  const begun = performance.now();
  await Promise.all(targets.map((target) => forwardTo(target, perTarget, body)));
  return (targets.length * perTarget) / ((performance.now() - begun) / 1_000);
}

async function forwardTo({ url, apiKey }: Target, count: number, body: string): Promise<void> {
  const pool = new Pool(url, { connections: 1 });
  for (let sent = 0; sent < count; sent += 1) {
    const { statusCode, body: answer } = await pool.request({
      method: 'POST',
      path: '/receipts',
      headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
      body,
    });
    const text = await answer.text();
    if (statusCode !== 200) throw new Error(`register answered ${statusCode}: ${text}`);
  }
  await pool.close();
}
