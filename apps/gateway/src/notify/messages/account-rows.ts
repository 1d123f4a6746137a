import type { Prisma } from '#database';
import { readerOf, type ReadValue, type SplitValues } from '#outgoing';
import type { ProblemError } from '#problems';
import { MESSAGE_DEFINITIONS, type MessageProviderCode } from '#messages';
import { settingFaults } from '../../http/account-fields.js';

export type AccountRow = Prisma.MessageAccountGetPayload<object>;

/** What `message_accounts.settings` holds. */
export type StoredAccountSettings = Pick<SplitValues, 'values' | 'secrets'>;

export function storedSettings(row: Pick<AccountRow, 'settings'>): StoredAccountSettings {
  return row.settings as unknown as StoredAccountSettings;
}

export function reader(provider: MessageProviderCode, values: Readonly<Record<string, string>>): ReadValue {
  return readerOf(MESSAGE_DEFINITIONS[provider].fields, values);
}

/** All that is wrong with an account's settings: each at its field, and only then what they are together. */
export function accountFaults(provider: MessageProviderCode, given: Readonly<Record<string, string>>): ProblemError[] {
  const definition = MESSAGE_DEFINITIONS[provider];
  const faults = settingFaults(provider, definition.fields, given, { isWhole: true });
  if (faults.length > 0) return faults;
  const together = definition.faults?.(reader(provider, given)) ?? [];
  return together.map(({ field, detail }) => ({ pointer: `/settings/${field}`, code: 'invalid_value', detail }));
}
