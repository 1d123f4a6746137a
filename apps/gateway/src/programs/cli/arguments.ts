import { CATALOG_USAGE } from './catalog-commands.js';
import { CLASSIFIER_USAGE } from './classifier-commands.js';
import { DOCTOR_USAGE } from './doctor/operator-doctor.js';
import { readArguments, refuseForeignOptions } from './read-arguments.js';
import { RESTORE_USAGE } from './restore-commands.js';
import { UsageError } from './usage-error.js';
import { USERS_USAGE } from './user-commands.js';

export const USAGE = `Usage:
  merchant create --code CODE --name NAME --tin NINE_DIGITS
  merchant list
  merchant set CODE_OR_ID [--name NAME] [--time-of-close HH:MM|none] [--require-external-id true|false]
                          [--default-goods none|SPIC,PACKAGE_CODE,UNITS,VAT_PERCENT] [--unsupported-fields refuse|omit]
  client create --merchant CODE_OR_ID --name NAME --ip any|CIDR,CIDR [--scopes SCOPE,SCOPE|all]
                [--require-idempotency-key]
  client list --merchant CODE_OR_ID
  client set ID [--name NAME] [--ip any|none|CIDR,CIDR] [--scopes SCOPE,SCOPE|all] [--signing auto|off|writes|all]
             [--auth all|METHOD,METHOD]   (client_secret_basic, client_secret_post, private_key_jwt)
  client rotate-secret ID [--overlap-seconds N] [--revoke-tokens]
  client disable ID
  client enable ID
  terminal show TERMINAL
  terminal give TERMINAL --merchant CODE_OR_ID --reason TEXT
${USERS_USAGE}
${CATALOG_USAGE}
${CLASSIFIER_USAGE}
${RESTORE_USAGE}
${DOCTOR_USAGE}

Answers are JSON. A client's secret and an invitation's link are shown once. --as NAME says who is acting; else the command asks.`;

const OPTIONS = {
  code: { type: 'string' },
  name: { type: 'string' },
  tin: { type: 'string' },
  merchant: { type: 'string' },
  scopes: { type: 'string' },
  ip: { type: 'string' },
  signing: { type: 'string' },
  auth: { type: 'string' },
  'overlap-seconds': { type: 'string' },
  'revoke-tokens': { type: 'boolean' },
  'time-of-close': { type: 'string' },
  'require-external-id': { type: 'string' },
  'default-goods': { type: 'string' },
  'unsupported-fields': { type: 'string' },
  'require-idempotency-key': { type: 'boolean' },
  reason: { type: 'string' },
} as const;

export type Given = ReturnType<typeof readArguments<typeof OPTIONS>>['values'];

const COMMANDS: Readonly<Record<string, readonly (keyof typeof OPTIONS)[]>> = {
  'merchant create': ['code', 'name', 'tin'],
  'merchant list': [],
  'merchant set': ['name', 'time-of-close', 'require-external-id', 'default-goods', 'unsupported-fields'],
  'client create': ['merchant', 'name', 'scopes', 'ip', 'require-idempotency-key'],
  'client list': ['merchant'],
  'client set': ['name', 'scopes', 'ip', 'signing', 'auth'],
  'client rotate-secret': ['overlap-seconds', 'revoke-tokens'],
  'client disable': [],
  'client enable': [],
  'terminal show': [],
  'terminal give': ['merchant', 'reason'],
};

/** These name what they change. */
export const WITH_TARGET: ReadonlySet<string> = new Set([
  'merchant set',
  'client set',
  'client rotate-secret',
  'client disable',
  'client enable',
  'terminal show',
  'terminal give',
]);

/** @throws UsageError */
export function readCommand(args: readonly string[]): { command: string; values: Given; positionals: string[] } {
  const { values, positionals } = readArguments(args, OPTIONS, USAGE);
  const [noun = '', verb = ''] = positionals;
  const command = `${noun} ${verb}`;
  const known = COMMANDS[command];
  if (!known) throw new UsageError(USAGE);
  refuseForeignOptions(command, { values, known, usage: USAGE });
  return { command, values, positionals };
}
