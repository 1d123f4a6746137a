/** One command of the operator, as it is typed. */
export interface CommandFacts {
  name: string;
  about: string;
  /** Its one argument; left out: it has none. */
  target?: string;
  /** Commander's flags, and what they are for. Which of them are needed, the command itself says. */
  options?: readonly (readonly [flags: string, about: string])[];
}

const MERCHANT = ['--merchant <code-or-id>', 'the merchant'] as const;
const REASON = ['--reason <text>', 'why; it stands on the trail'] as const;
const EVIDENCE = ['--evidence <file>', 'what proves it'] as const;
const SCOPES = ['--scopes <scopes>', 'divided by commas, or all'] as const;
const FORMAT = ['--format <format>', 'csv, xlsx or jsonl; else the ending of the file says it'] as const;

/** What all commands are about, in the order of the help. */
export const NOUNS: Readonly<Record<string, string>> = {
  merchant: 'merchants and their settings',
  client: 'clients of the API',
  terminal: 'to whom a terminal belongs',
  users: 'people: the first administrator, and the way back in',
  catalog: 'files of products',
  classifier: 'the classification register, for all merchants',
  archive: 'attempts that have left the database (docs/archive.md)',
  restore: 'after a copy of the database was put back (docs/backup.md)',
};

export const COMMANDS: readonly CommandFacts[] = [
  {
    name: 'merchant create',
    about: 'make a merchant',
    options: [
      ['--code <code>', 'short, by which commands name it'],
      ['--name <name>', 'as on receipts'],
      ['--tin <nine-digits>', 'tax number'],
      ['--mode <mode>', 'live or sandbox, for ever'],
    ],
  },
  { name: 'merchant list', about: 'all merchants' },
  {
    name: 'merchant set',
    target: 'code-or-id',
    about: 'change settings of a merchant',
    options: [
      ['--name <name>', 'as on receipts'],
      ['--time-of-close <time>', 'HH:MM or none'],
      ['--require-external-id <boolean>', 'true or false'],
      ['--default-goods <goods>', 'none or SPIC,PACKAGE_CODE,UNITS,VAT_PERCENT'],
      ['--unsupported-fields <what>', 'refuse or omit'],
    ],
  },
  {
    name: 'client create',
    about: 'make a client; its secret is shown once',
    options: [
      MERCHANT,
      ['--name <name>', 'for people'],
      ['--ip <networks>', 'any, or networks in CIDR, divided by commas'],
      SCOPES,
      ['--require-idempotency-key', 'its sales need a key'],
    ],
  },
  { name: 'client list', about: 'clients of a merchant', options: [MERCHANT] },
  {
    name: 'client set',
    target: 'id',
    about: 'change a client',
    options: [
      ['--name <name>', 'for people'],
      ['--ip <networks>', 'any, none, or networks in CIDR, divided by commas'],
      SCOPES,
      ['--signing <policy>', 'auto, off, writes or all'],
      ['--auth <methods>', 'all, or client_secret_basic, client_secret_post, private_key_jwt'],
    ],
  },
  {
    name: 'client rotate-secret',
    target: 'id',
    about: 'a new secret, shown once',
    options: [
      ['--overlap-seconds <number>', 'for how long the old one counts too'],
      ['--revoke-tokens', 'what was given for the old one ends'],
    ],
  },
  { name: 'client disable', target: 'id', about: 'shut a client out' },
  { name: 'client enable', target: 'id', about: 'let it in again' },
  { name: 'terminal show', target: 'terminal', about: 'whose it is' },
  { name: 'terminal give', target: 'terminal', about: 'give it to a merchant', options: [MERCHANT, REASON] },
  {
    name: 'users invite',
    about: 'a link that makes a user; it opens once',
    options: [
      ['--email <address>', 'of the person'],
      ['--roles <roles>', 'owner, operator, accountant, support, developer; platform_administrator, platform_reader'],
      MERCHANT,
    ],
  },
  { name: 'users list', about: 'users, with their roles', options: [MERCHANT] },
  {
    name: 'users recover',
    target: 'address',
    about: 'a link that sets new credentials; sessions end when it is opened',
  },
  { name: 'users disable', target: 'address', about: 'shut a user out' },
  { name: 'users enable', target: 'address', about: 'let it in again' },
  { name: 'users release', target: 'address', about: 'free the address of an account that is not its owner’s' },
  {
    name: 'catalog import',
    about: 'products from a file',
    options: [
      MERCHANT,
      ['--file <file>', 'to read'],
      FORMAT,
      ['--full', 'the file is everything: what is missing in it ends'],
      ['--rejected <file>', 'takes the rows that were refused'],
    ],
  },
  { name: 'catalog export', about: 'products into a file', options: [MERCHANT, ['--file <file>', 'to write'], FORMAT] },
  {
    name: 'classifier load',
    target: 'full|inactive|changes|lines',
    about: 'take a version over',
    options: [
      ['--source <url-or-file>', 'in place of the setting'],
      ['--allow-fewer', 'it may have far fewer entries than the one before'],
    ],
  },
  { name: 'classifier versions', about: 'what is in force, and what was' },
  {
    name: 'classifier back',
    about: 'go back to a version',
    options: [REASON, ['--to <version>', 'else the one before']],
  },
  { name: 'classifier resume', about: 'fetch again', options: [REASON] },
  {
    name: 'archive list',
    about: 'archives, the oldest first',
    options: [['--after <name>', 'those after this one']],
  },
  {
    name: 'archive verify',
    about: 'read archives whole, and hold them against their manifests',
    options: [['--name <name>', 'this one alone; else all']],
  },
  {
    name: 'archive restore',
    target: 'name',
    about: 'bring the rows of an archive back, for thirty days',
    options: [REASON],
  },
  { name: 'restore begin', about: 'hold all lanes: nothing goes to any register', options: [REASON] },
  { name: 'restore status', about: 'what is held' },
  {
    name: 'restore list',
    about: 'held receipts, one JSON object a line',
    options: [MERCHANT, ['--file <file>', 'to write']],
  },
  {
    name: 'restore gaps',
    about: 'numbers that registers gave out and no receipt here bears, one JSON object a line',
    options: [['--since <time>', 'before the copy was made, with its zone'], MERCHANT, ['--file <file>', 'to write']],
  },
  {
    name: 'restore resolve',
    about: 'carry decisions out',
    options: [['--file <file>', 'decisions as JSON lines or CSV'], REASON, EVIDENCE],
  },
  {
    name: 'restore adopt',
    about: 'take registers as they are',
    options: [MERCHANT, ['--devices <ids>', 'divided by commas'], REASON, EVIDENCE],
  },
  { name: 'restore nothing-lost', about: 'everything held goes back to where it was', options: [REASON, EVIDENCE] },
  { name: 'restore end', about: 'lanes go on', options: [REASON] },
  { name: 'doctor', about: 'examine clock, database, queue, registers, disks, and say what to do' },
];
