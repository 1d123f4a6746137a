import { readerOf, type ReadValue } from '#outgoing';
import { DEFINITIONS, type ProviderCode } from '#payments';

/** An account with its secrets opened. */
export interface OpenAccount {
  id: string;
  merchantId: string;
  provider: ProviderCode;
  /** Settings and credentials together, defaults filled in. */
  values: Readonly<Record<string, string>>;
  /** Networks from which its calls may come; empty = anywhere, the signature decides. */
  sources: readonly string[];
  isDisabled: boolean;
}

export function valueOf(account: Pick<OpenAccount, 'provider' | 'values'>, name: string): string {
  return reader(account)(name);
}

export function reader(account: Pick<OpenAccount, 'provider' | 'values'>): ReadValue {
  return readerOf(DEFINITIONS[account.provider].fields, account.values);
}
