import { resolve } from 'node:path';
import { buildVerificationLink, VAT_RULES, type VatRule } from '#fiscal-domain';
import * as runtime from '#runtime';
import { fitsQrCode, RECEIPT_LANGUAGES } from '#paper';

const FAR_FUTURE = new Date('2099-12-31T00:00:00Z');

/** Every setting of the cash register, read once at start. */
export const REGISTER_SETTINGS = {
  /** Port of the local API; 0 lets the system choose. */
  REGISTER_PORT: runtime.port().default(8765),
  /** Address to listen on: loopback unless the register shall serve the shop's network. */
  REGISTER_HOST: runtime.text().default('127.0.0.1'),
  /** Folder in which the register keeps everything. Clearing it destroys the fiscal data. */
  DATA_DIR: runtime.path().default(resolve('.data/register')),
  /** OFD servers, tried in this order. */
  OFD_URLS: runtime.urlList(['http', 'https']).default(['http://127.0.0.1:8756']),
  /** Time for all OFD servers together within one sale. */
  OFD_SALE_BUDGET_MS: runtime.integer({ min: 1, max: 60_000 }).default(2_000),
  /** Least time between two operations of the fiscal module; 0 for load tests. */
  FM_MIN_INTERVAL_MS: runtime.integer({ max: 60_000 }).default(1_000),
  /** How many unsent documents fit into the module. */
  FM_RECEIPT_CAPACITY: runtime.integer({ min: 1, max: 1_000_000 }).default(858),
  /** How many shifts the module has for its life. */
  FM_SHIFT_CAPACITY: runtime.integer({ min: 1, max: 1_000_000 }).default(832),
  /** Most tiyin by which the paid sum may differ from the total, as real modules have it (10 000); unset: any difference. */
  FM_PAYMENT_TOLERANCE_TIYIN: runtime.integer().optional(),
  /** What E-016 takes as the base of an item's VAT. */
  VAT_RULE: oneOfVatRules().default('unit'),
  /** Base of the verification link in the QR code. */
  VERIFICATION_URL: runtime.parsed(readVerificationUrl).default('https://ofd.soliq.uz/check'),
  /** Classification register as JSON lines; the built-in sample when unset. */
  CLASSIFIER_FILE: runtime.path().optional(),
  /** Access token of the local API; generated into the data folder when unset. */
  REGISTER_API_KEY: runtime.parsed(readApiKey).optional(),
  /** Terminal id of a new data folder; `ZZ` + 12 digits generated when unset. */
  REGISTER_TERMINAL_ID: runtime.parsed(readTerminalId).optional(),
  /** Whether a new data folder starts activated; otherwise it answers E-001 until it is activated on its screen. */
  REGISTER_ACTIVATED: runtime.boolean().default(true),
  REGISTER_BUSINESS_NAME: runtime.text().default('Demo savdo MChJ'),
  REGISTER_PHONE: runtime.text().default('998712000000'),
  REGISTER_TIN: runtime.text().default('300000000'),
  REGISTER_LEGAL_ADDRESS: runtime.text().default('Toshkent shahri'),
  REGISTER_ACTUAL_ADDRESS: runtime.text().default('Toshkent shahri'),
  REGISTER_BRANCH_ID: runtime.text().default('branch-1'),
  REGISTER_BRANCH_ADDRESS: runtime.text().default('Toshkent shahri'),
  /** Names under which people open the screen, besides this machine's addresses; any other Host is refused. */
  REGISTER_SCREEN_HOSTS: runtime.parsed(readHostNames).default([]),
  RECEIPT_LANGUAGE: runtime.oneOf(RECEIPT_LANGUAGES).default('ru'),
  SUBSCRIPTION_EXPIRES_AT: runtime.parsed(readInstant).default(FAR_FUTURE),
  /** Days before the expiry in which the state is `expiring`. */
  SUBSCRIPTION_WARNING_DAYS: runtime.integer({ max: 366 }).default(14),
  /** Opens POST /emulator/faults. Never on a register that issues real receipts. */
  EMULATOR: runtime.boolean().default(false),
  /** With EMULATOR: this many registers on consecutive ports. */
  EMULATOR_REGISTERS: runtime.integer({ min: 1, max: 10_000 }).default(1),
  /** off: a specification-only register (no Idempotency-Key, no journal look-up, no capabilities). */
  REGISTER_EXTENSIONS: runtime.boolean().default(true),
  /** Where the register dials out, for a gateway that cannot reach it: the link_url of an enrolment. */
  LINK_URL: runtime.url(['wss', 'ws']).optional(),
  LINK_ENROLMENT_CODE: runtime.text().optional(),
  /** Lets LINK_URL be ws:// to another machine. */
  LINK_ALLOW_INSECURE: runtime.boolean().default(false),
  ...runtime.METRICS_SETTINGS,
  ...runtime.TRACING_SETTINGS,
  LOG_LEVEL: runtime.oneOf(runtime.LOG_LEVELS).default('info'),
} satisfies runtime.SettingsTable;

export type RegisterSettings = runtime.Settings<typeof REGISTER_SETTINGS>;

/** @throws SettingsError naming every bad setting */
export function readRegisterSettings(env: runtime.Environment = process.env): RegisterSettings {
  const settings = runtime.readSettings(REGISTER_SETTINGS, env);
  if (settings.EMULATOR_REGISTERS > 1 && !settings.EMULATOR) {
    throw new runtime.SettingsError([{ key: 'EMULATOR_REGISTERS', fault: 'needs EMULATOR=1' }]);
  }
  if (settings.EMULATOR_REGISTERS > 1 && settings.LINK_URL !== undefined) {
    throw new runtime.SettingsError([
      { key: 'LINK_URL', fault: 'leads to one register: EMULATOR_REGISTERS must be 1' },
    ]);
  }
  return settings;
}

function oneOfVatRules(): runtime.Field<VatRule> {
  return runtime.parsed((raw) => {
    const found = VAT_RULES.find((rule) => rule === raw);
    if (found === undefined) throw new Error(`one of ${VAT_RULES.join(', ')}`);
    return found;
  });
}

function readApiKey(raw: string): string {
  if (!/^[\u0021-\u007e]{16,255}$/.test(raw)) throw new Error('16 to 255 printable ASCII characters');
  return raw;
}

function readTerminalId(raw: string): string {
  if (!/^[A-Z]{2}\d{12}$/.test(raw)) throw new Error('2 capital letters and 12 digits');
  return raw;
}

/** Of a link: what no receipt's own values exceed. */
const LONGEST_LINK = {
  ...{ terminalId: 'ZZ000000000000', receiptSeq: Number.MAX_SAFE_INTEGER },
  ...{ compactTime: '00000000000000', fiscalSign: '000000000000' },
};

/** Everything is known at the start: a sale that is registered must not fail over its QR code. */
function readVerificationUrl(raw: string): string {
  const isHttp = URL.canParse(raw) && ['http:', 'https:'].includes(new URL(raw).protocol);
  // Behind a # the link's values would be no query.
  if (!isHttp || raw.includes('#')) throw new Error('a URL that begins with http:// or https://, without #');
  if (!fitsQrCode(buildVerificationLink(raw, LONGEST_LINK)))
    throw new Error('so short that its link fits into a QR code');
  return raw;
}

function readHostNames(raw: string): readonly string[] {
  const names = raw
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  const isName = (name: string): boolean => /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name);
  if (!names.every(isName)) throw new Error('a comma-separated list of host names without port');
  return names;
}

function readInstant(raw: string): Date {
  const instant = new Date(raw);
  if (!/^\d{4}-\d{2}-\d{2}/.test(raw) || Number.isNaN(instant.getTime())) throw new Error('an ISO 8601 time');
  return instant;
}
