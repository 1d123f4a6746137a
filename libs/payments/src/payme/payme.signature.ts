import { basicAuthorization, isBasicCaller } from '../basic-auth.js';

/** The Authorization header that Payme sends to a merchant: Basic of `login:key`. */
export function paymeAuthorization(login: string, key: string): string {
  return basicAuthorization(login, key);
}

/** Any key of the list is taken: the account's own, and the sandbox's. */
export function isPaymeCaller(header: string | undefined, login: string, keys: readonly string[]): boolean {
  return isBasicCaller(header, login, keys);
}
