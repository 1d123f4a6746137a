import type { MessageChannel, MessageLanguage } from '#messages';

export const MERCHANT_MODES = ['live', 'sandbox'] as const;
export type MerchantMode = (typeof MERCHANT_MODES)[number];

/** What `merchants.settings` holds, by the names of the API. */
export interface MerchantSettings {
  /** What a sale's line is when the catalogue knows nothing of it; null = such a line is refused. */
  default_goods: { spic: string; package_code: string; units: number; vat_percent: number } | null;
  /** Tashkent, `HH:MM`: when shifts are closed on devices that have no time of their own; null = the relay's default. */
  time_of_close: string | null;
  requirements: {
    /** Every sale must carry an external_id. */
    external_id: boolean;
  };
  /** What becomes of a receipt that says something which its register does not take into the fiscal document. */
  unsupported_fields: UnsupportedFields;
  /** How buyers get receipts of sales that say nothing of it. */
  notify: {
    /** None: receipts are not sent unless a sale asks for it. */
    channels: MessageChannel[];
    /** Null: Uzbek. */
    language: MessageLanguage | null;
  };
  /** What a second user must approve (access/people/approvals). */
  four_eyes: {
    /** Decisions about unknown receipts of more than this, tiyin; null: about none. */
    unknown_above: number | null;
    /** Changes of accounts at payment providers. */
    provider_accounts: boolean;
  };
}

export type DefaultGoods = NonNullable<MerchantSettings['default_goods']>;
export type NotifyDefault = MerchantSettings['notify'];

/** `refuse`: it is not made. `omit`: it is made without, and does not pass it off as fiscal. */
export const UNSUPPORTED_FIELDS = ['refuse', 'omit'] as const;
export type UnsupportedFields = (typeof UNSUPPORTED_FIELDS)[number];

/** Whatever is missing is at its default: rows of older versions have less. */
export function readMerchantSettings(stored: unknown): MerchantSettings {
  const json = (typeof stored === 'object' && stored !== null ? stored : {}) as Partial<MerchantSettings>;
  return {
    default_goods: json.default_goods ?? null,
    time_of_close: json.time_of_close ?? null,
    requirements: { external_id: json.requirements?.external_id === true },
    unsupported_fields: json.unsupported_fields ?? 'refuse',
    notify: { channels: json.notify?.channels ?? [], language: json.notify?.language ?? null },
    four_eyes: {
      unknown_above: json.four_eyes?.unknown_above ?? null,
      provider_accounts: json.four_eyes?.provider_accounts === true,
    },
  };
}
