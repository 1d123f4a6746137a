import type { MessageChannel, MessageLanguage } from '#messages';

/** What `merchants.settings` holds. */
export interface MerchantSettings {
  /** What a sale's line is when the catalogue knows nothing of it; null = such a line is refused. */
  defaultGoods: DefaultGoods | null;
  /** Tashkent, `HH:MM`: when shifts are closed on devices that have no time of their own; null = the relay's default. */
  timeOfClose: string | null;
  requirements: {
    /** Every sale must carry an external_id. */
    externalId: boolean;
  };
  /** What becomes of a receipt that says something which its register does not take into the fiscal document. */
  unsupportedFields: UnsupportedFields;
  /** How buyers get receipts of sales that say nothing of it. */
  notify: NotifyDefault;
  /** What a second user must approve (access/people/approvals). */
  fourEyes: {
    /** Decisions about unknown receipts of more than this, tiyin; null: about none. */
    unknownAbove: number | null;
    /** Changes of accounts at payment providers. */
    providerAccounts: boolean;
  };
}

export interface NotifyDefault {
  /** None: receipts are not sent unless a sale asks for it. */
  channels: readonly MessageChannel[];
  /** Null: Uzbek. */
  language: MessageLanguage | null;
}

/** `refuse`: it is not made. `omit`: it is made without, and does not pass it off as fiscal. */
export const UNSUPPORTED_FIELDS = ['refuse', 'omit'] as const;
export type UnsupportedFields = (typeof UNSUPPORTED_FIELDS)[number];

export interface DefaultGoods {
  spic: string;
  packageCode: string;
  units: number;
  vatPercent: number;
}

/** `merchants.settings` as it is stored. */
interface StoredSettings {
  default_goods: { spic: string; package_code: string; units: number; vat_percent: number } | null;
  time_of_close: string | null;
  requirements: { external_id: boolean };
  unsupported_fields: UnsupportedFields;
  notify: { channels: MessageChannel[]; language: MessageLanguage | null };
  four_eyes: { unknown_above: number | null; provider_accounts: boolean };
}

/** Whatever is missing is at its default: rows of older versions have less. */
export function readMerchantSettings(stored: unknown): MerchantSettings {
  const json = (typeof stored === 'object' && stored !== null ? stored : {}) as Partial<StoredSettings>;
  const goods = json.default_goods ?? null;
  return {
    defaultGoods: goods && {
      spic: goods.spic,
      packageCode: goods.package_code,
      units: goods.units,
      vatPercent: goods.vat_percent,
    },
    timeOfClose: json.time_of_close ?? null,
    requirements: { externalId: json.requirements?.external_id === true },
    unsupportedFields: json.unsupported_fields ?? 'refuse',
    notify: { channels: json.notify?.channels ?? [], language: json.notify?.language ?? null },
    fourEyes: {
      unknownAbove: json.four_eyes?.unknown_above ?? null,
      providerAccounts: json.four_eyes?.provider_accounts === true,
    },
  };
}

export function storedSettings(settings: MerchantSettings): StoredSettings {
  const { defaultGoods, timeOfClose, requirements, unsupportedFields, notify, fourEyes } = settings;
  return {
    default_goods: defaultGoods && {
      spic: defaultGoods.spic,
      package_code: defaultGoods.packageCode,
      units: defaultGoods.units,
      vat_percent: defaultGoods.vatPercent,
    },
    time_of_close: timeOfClose,
    requirements: { external_id: requirements.externalId },
    unsupported_fields: unsupportedFields,
    notify: { channels: [...notify.channels], language: notify.language },
    four_eyes: { unknown_above: fourEyes.unknownAbove, provider_accounts: fourEyes.providerAccounts },
  };
}
