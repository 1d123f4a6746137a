/** A provider's call to a merchant. Null when nobody answered, or not with JSON. */
export interface MerchantAnswer {
  status: number;
  body: Record<string, unknown>;
}

const TIMEOUT_MS = 10_000;

export async function callMerchant(
  url: string,
  body: string,
  headers: Record<string, string>,
): Promise<MerchantAnswer | null> {
  try {
    const init = { method: 'POST', body, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const response = await fetch(url, init);
    const text = await response.text();
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
  } catch {
    // The merchant is away or answers nonsense: what a provider then does is the caller's business.
    return null;
  }
}
