/**
 * Prefixes of the product's own ids: merchant, branch, cashier, device, client, receipt, attempt, payment, event, webhook,
 * shift; device group, device task, link key, webhook delivery, catalogue synchronisation, catalogue import, client key; provider account,
 * compared register of a provider;
 * user, user's session, invitation, approval, passkey; message to a buyer, message account, suppressed address, chat of a bot.
 */
export const ID_PREFIXES = [
  'mer',
  'brn',
  'csh',
  'dev',
  'cli',
  'rcp',
  'att',
  'pay',
  'evt',
  'whk',
  'sht',
  'grp',
  'tsk',
  'lnk',
  'dlv',
  'syn',
  'imp',
  'key',
  'pac',
  'stl',
  'msg',
  'mac',
  'sup',
  'cht',
  'usr',
  'ses',
  'inv',
  'apr',
  'psk',
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

/** A ULID's first character carries only 3 bits; Crockford's alphabet leaves out i, l, o, u. */
const ULID = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

const ULID_LENGTH = 26;
/** Three letters and an underscore. */
const PREFIX_LENGTH = 4;
/** Stands in the ids of a sandbox: its merchant's, and those of what belongs to it. */
const TEST_MARK = 'test_';

/** prefix + "_" + lower-case ULID (26 characters of Crockford base32); in a sandbox prefix + "_test_" + ULID. */
export function isId(prefix: IdPrefix, text: string): boolean {
  if (!text.startsWith(`${prefix}_`)) return false;
  const number = text.slice(prefix.length + 1);
  return ULID.test(number.startsWith(TEST_MARK) ? number.slice(TEST_MARK.length) : number);
}

/** Whether an id of ours belongs to a sandbox. */
export function isTestId(id: string): boolean {
  return id.startsWith(TEST_MARK, PREFIX_LENGTH);
}

/** What the ids of a merchant's things begin with. */
export function prefixOf(prefix: IdPrefix, merchantId: string): string {
  return isTestId(merchantId) ? `${prefix}_${TEST_MARK.slice(0, -1)}` : prefix;
}

/** The ULID of an id, which says when it was made. */
export function ulidOf(id: string): string {
  return id.slice(-ULID_LENGTH).toUpperCase();
}
