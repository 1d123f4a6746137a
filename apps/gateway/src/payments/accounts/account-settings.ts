import { DEFINITIONS, type ProviderCode, type ReadValue } from '#payments';

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
  return account.values[name] ?? DEFINITIONS[account.provider].fields[name]?.fallback ?? '';
}

export function reader(account: Pick<OpenAccount, 'provider' | 'values'>): ReadValue {
  return (name) => valueOf(account, name);
}
