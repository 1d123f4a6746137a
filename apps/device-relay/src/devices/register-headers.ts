/** What a register states about itself in the headers of GET /fm/info. Odd values count as absent: nothing is decided by them. */
export interface RegisterHeaders {
  subscriptionExpiresAt: Date | null;
  /** Our extension: the version of the classification register that it judges goods by; 0 = it does not know. */
  classifierVersion: number | null;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export function readRegisterHeaders(headers: Headers = {}): RegisterHeaders {
  return {
    subscriptionExpiresAt: readDate(headers['x-subscription-expires-at']),
    classifierVersion: readCount(headers['x-classifier-version']),
  };
}

/** Years that PostgreSQL and people can read; anything else was no date. */
function readDate(header: string | string[] | undefined): Date | null {
  if (typeof header !== 'string') return null;
  const date = new Date(header);
  const year = date.getUTCFullYear();
  return year >= 2000 && year <= 9999 ? date : null;
}

function readCount(header: string | string[] | undefined): number | null {
  const count = typeof header === 'string' && /^\d{1,16}$/.test(header) ? Number(header) : Number.NaN;
  return Number.isSafeInteger(count) ? count : null;
}
