import { readFileSync } from 'node:fs';
import { isObject } from '#payments';

/** Where the merchant takes calls of a provider, as its cabinet there says. */
export interface MerchantAccounts {
  payme: { url: string; key: string; account_field: string } | null;
  click: { url: string; service_id: string; secret_key: string } | null;
  /** `url` instead of the callback_url that an invoice names. */
  multicard: { secret: string; store_id: string; url?: string } | null;
  atmos: { url: string; store_id: string; api_key: string } | null;
  paynet: { url: string; service_id: string; login: string; password: string } | null;
  octo: { secret: string; url?: string } | null;
  stripe: { url: string; webhook_secret: string } | null;
  uzum: { url: string; service_id: string; login: string; password: string; account_param: string } | null;
}

export const NO_ACCOUNTS: MerchantAccounts = {
  payme: null,
  click: null,
  multicard: null,
  uzum: null,
  octo: null,
  atmos: null,
  paynet: null,
  stripe: null,
};

/** Read anew each time: the demo's set-up may write the file after the simulator has started. */
export function fileAccounts(file: string | undefined): () => MerchantAccounts {
  return () => {
    if (file === undefined) return NO_ACCOUNTS;
    try {
      const parsed = JSON.parse(readFileSync(file, 'utf8')) as unknown;
      return isObject(parsed) ? { ...NO_ACCOUNTS, ...(parsed as Partial<MerchantAccounts>) } : NO_ACCOUNTS;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return NO_ACCOUNTS;
      throw error;
    }
  };
}
