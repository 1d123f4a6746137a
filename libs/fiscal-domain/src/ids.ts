/**
 * Prefixes of the product's own ids: merchant, branch, cashier, device, client, receipt, attempt, payment, event, webhook,
 * shift; device group, device task, link key, webhook delivery, catalogue synchronisation, catalogue import, client key; provider account;
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

/** prefix + "_" + lower-case ULID (26 characters of Crockford base32). */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && ULID.test(text.slice(prefix.length + 1));
}
