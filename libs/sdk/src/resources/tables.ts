/** The resources that need no code of their own: one line for each operation, its path below /v1 (resource.ts). */

export const AUDIT = { list: 'LIST audit' } as const;

/** Branches, cashiers and groups are handled alike. */
function placesBelow<Name extends 'branches' | 'cashiers' | 'groups'>(name: Name) {
  return {
    list: `LIST ${name}`,
    create: `POST ${name}`,
    get: `GET ${name}/{id}`,
    change: `PATCH ${name}/{id}`,
    archive: `DELETE ${name}/{id}`,
    restore: `DO ${name}/{id}/restore`,
  } as const;
}

export const BRANCHES = placesBelow('branches');
export const CASHIERS = placesBelow('cashiers');
/** Registers that may stand in for one another beyond a branch. */
export const GROUPS = placesBelow('groups');

export const CATALOG = {
  /** Products that the classification register has overtaken. */
  affected: 'LIST catalog/affected',
  /** All products as CSV, XLSX or JSONL. */
  export: 'FILE catalog/export',
  getImport: 'GET catalog/imports/{id}',
  /** The rows that an import did not take, with reasons. */
  rejectedRows: 'FILE catalog/imports/{id}/rejected',
  /** Which products the lines of a sale mean. */
  resolve: 'POST catalog/resolve',
  /** A full synchronisation: begin, add pages, commit. What was not sent is archived with the commit. */
  beginSync: 'DO catalog/syncs',
  getSync: 'GET catalog/syncs/{id}',
  addToSync: 'PUT catalog/syncs/{id}/products',
  commitSync: 'DO catalog/syncs/{id}/commit',
  abortSync: 'DO catalog/syncs/{id}/abort',
} as const;

/** The national classification register (SPIC codes). */
export const CLASSIFIER = {
  search: 'LIST classifier',
  /** Each load of the register, the newest first. */
  imports: 'LIST classifier/imports',
  get: 'GET classifier/{spic}',
  export: 'FILE classifier/export',
} as const;

export const CLIENTS = {
  list: 'LIST clients',
  /** The answer shows the secret, once. */
  create: 'POST clients',
  get: 'GET clients/{id}',
  change: 'PATCH clients/{id}',
  disable: 'DO clients/{id}/disable',
  enable: 'DO clients/{id}/enable',
  renewSecret: 'POST clients/{id}/secret',
  keys: 'LIST clients/{id}/keys',
  addKey: 'POST clients/{id}/keys',
  disableKey: 'DELETE clients/{id}/keys/{key}',
} as const;

export const DEVICES = {
  list: 'LIST devices',
  register: 'POST devices',
  get: 'GET devices/{id}',
  change: 'PATCH devices/{id}',
  remove: 'DELETE devices/{id}',
  /** Asks the register now. `pending`: it takes longer, and `task` shows what becomes of it. */
  check: 'DO devices/{id}/check',
  task: 'GET devices/{id}/tasks/{taskId}',
  shift: 'GET devices/{id}/shift',
  openShift: 'DO devices/{id}/shift/open',
  closeShift: 'DO devices/{id}/shift/close',
  zReports: 'LIST devices/{id}/z-reports',
  attempts: 'LIST devices/{id}/attempts',
  /** No new receipts; what waits goes out. */
  drain: 'DO devices/{id}/drain',
  resume: 'DO devices/{id}/resume',
  /** Stops the lane where it is. */
  disable: 'DO devices/{id}/disable',
  enable: 'DO devices/{id}/enable',
  /** A code with which the register dials in. */
  enrol: 'POST devices/{id}/enrolments',
  endLinkKey: 'DELETE devices/{id}/link-key',
  challengeTerminal: 'DO devices/{id}/terminal-challenge',
  proveTerminal: 'POST devices/{id}/terminal-proof',
} as const;

export const INVITATIONS = {
  list: 'LIST invitations',
  /** The answer shows the link, once. */
  create: 'POST invitations',
  withdraw: 'DELETE invitations/{id}',
} as const;

/** Who calls, and what it may do. */
export const ME = { get: 'GET me' } as const;

/** Sums of today and the last 30 days, how long registering takes, and what runs out next. */
export const OVERVIEW = { get: 'GET overview' } as const;

export const MERCHANT = {
  get: 'GET merchant',
  change: 'PATCH merchant',
  /** What its receipts look like. */
  brand: 'GET merchant/brand',
  changeBrand: 'PUT merchant/brand',
} as const;

/** Through whom messages go to buyers. */
export const MESSAGE_ACCOUNTS = {
  list: 'LIST message-accounts',
  create: 'POST message-accounts',
  get: 'GET message-accounts/{id}',
  change: 'PATCH message-accounts/{id}',
  remove: 'DELETE message-accounts/{id}',
  /** Sends a message through this account alone. */
  test: 'POST message-accounts/{id}/test',
} as const;

/** Receipts sent to buyers; those of one receipt are at `receipts.messages`. */
export const MESSAGES = {
  list: 'LIST messages',
  /** What messages say, by channel and language. */
  templates: 'LIST message-templates',
  changeTemplate: 'PUT message-templates',
  /** What a message would say; sends nothing. */
  preview: 'POST message-templates/preview',
} as const;

/** What only a person can decide. */
export const OPERATOR = {
  /** Receipts that need a decision. */
  unknown: 'LIST operator/unknown',
  /** What runs out at each register. */
  countdowns: 'LIST operator/countdowns',
  resolve: 'POST operator/attempts/{id}/resolve',
  park: 'POST operator/attempts/{id}/park',
  adoptModule: 'POST operator/devices/{id}/adopt',
  unblock: 'POST operator/devices/{id}/unblock',
  resolvePayment: 'POST operator/payments/{id}/resolve',
  retryPayment: 'POST operator/payments/{id}/retry',
  notePaymentDocument: 'POST operator/payments/{id}/document',
  endExtraCharge: 'POST operator/payments/{id}/extra-charges',
} as const;

export const PROVIDER_ACCOUNTS = {
  list: 'LIST provider-accounts',
  create: 'POST provider-accounts',
  get: 'GET provider-accounts/{id}',
  change: 'PATCH provider-accounts/{id}',
  disable: 'DELETE provider-accounts/{id}',
} as const;

export const REPORTS = {
  /** By day, register, branch or VAT rate; the whole period is one page. */
  turnover: 'LIST reports/turnover',
  /** Own sums beside those of the Z-reports. */
  reconciliation: 'LIST reports/reconciliation',
} as const;

export const PAYMENTS = {
  list: 'LIST payments',
  get: 'GET payments/{id}',
  cancel: 'DO payments/{id}/cancel',
  /** Takes money that is reserved; the receipt follows. */
  capture: 'DO payments/{id}/capture',
  /** The one-time code that the provider sent to the customer. */
  confirm: 'POST payments/{id}/confirm',
  /** Whether the goods were handed over, where the receipt waits for that. */
  deliver: 'POST payments/{id}/delivered',
  /** Differences between money and receipts. */
  reconciliation: 'LIST payments/reconciliation',
} as const;

/** What of receipts needs no code of its own. */
export const RECEIPTS = {
  /** The refunds of a sale; each page says under `left` what can still be refunded. */
  refunds: 'LIST receipts/{id}/refunds',
  /** What has happened to it, oldest first. */
  timeline: 'LIST receipts/{id}/timeline',
  /** What was sent to the buyer. */
  messages: 'LIST receipts/{id}/messages',
  sendMessage: 'POST receipts/{id}/messages',
  /** The customer's receipt as page, PDF, picture or text. */
  document: 'FILE receipts/{id}/document',
  /** NDJSON, CSV or XLSX, as a stream. */
  export: 'FILE receipts/export',
  /** Adds a fiscal sign that the register did not give, as the OFD shows it (scope operator:resolve). */
  completeFiscal: 'POST receipts/{id}/fiscal',
} as const;

/** The merchant's own catalogue. */
export const PRODUCTS = {
  list: 'LIST catalog/products',
  /** Adds and changes by `sku`; each product has a result of its own. */
  upsert: 'PUT catalog/products',
  get: 'GET catalog/products/{sku}',
  change: 'PATCH catalog/products/{sku}',
  archive: 'DELETE catalog/products/{sku}',
  /** What has changed since a cursor, so that a copy elsewhere stays complete. */
  changes: 'LIST catalog/changes',
} as const;

export const WEBHOOKS = {
  list: 'LIST webhooks',
  /** The answer shows the secret, once. */
  create: 'POST webhooks',
  get: 'GET webhooks/{id}',
  /** `enabled: true` sends what had waited. Another origin in `url` makes a new secret, shown in the answer. */
  change: 'PATCH webhooks/{id}',
  remove: 'DELETE webhooks/{id}',
  /** Sends `webhook.test` to this endpoint alone. */
  test: 'DO webhooks/{id}/test',
  /** A new secret; the one before signs too for a while: verify with both. */
  rotateSecret: 'POST webhooks/{id}/rotate-secret',
  deliveries: 'LIST webhooks/{id}/deliveries',
  /** One delivery with the request that carries it. */
  delivery: 'GET webhooks/{id}/deliveries/{deliveryId}',
  /** Sends again what was given up between two times, and nothing else. */
  recover: 'POST webhooks/{id}/recover',
  /** Sends one event again, or all of a time. */
  replay: 'POST webhooks/{id}/replay',
  /** What was sent to the `callback_url` of a receipt. */
  callbacks: 'LIST webhooks/callbacks',
  /** Shows the secret that signs callbacks, and changes it; the one before signs too for a while. */
  rotateCallbackSecret: 'POST webhooks/callbacks/rotate-secret',
} as const;

/** What is missing before the first receipt. */
export const ONBOARDING = { get: 'GET onboarding' } as const;

/** All merchants of the installation (scope platform:admin). */
export const PLATFORM = {
  merchants: 'LIST platform/merchants',
  createMerchant: 'POST platform/merchants',
  merchant: 'GET platform/merchants/{id}',
  changeMerchant: 'PATCH platform/merchants/{id}',
  /** It accepts nothing; what it has accepted is finished. */
  suspendMerchant: 'POST platform/merchants/{id}/suspend',
  resumeMerchant: 'DO platform/merchants/{id}/resume',
  /** By month. */
  usage: 'LIST platform/merchants/{id}/usage',
  /** The answer shows the secret, once. */
  createClient: 'POST platform/merchants/{id}/clients',
} as const;

/** Addresses to which nothing is sent. */
export const SUPPRESSIONS = {
  list: 'LIST suppressions',
  add: 'POST suppressions',
  remove: 'DELETE suppressions/{id}',
} as const;

/** People who work for the merchant. */
export const USERS = {
  list: 'LIST users',
  get: 'GET users/{id}',
  /** The roles that it has from now on. */
  change: 'PATCH users/{id}',
  remove: 'DELETE users/{id}',
} as const;

/** By the name that each has in `FiscalGateway`. */
export const RESOURCES = {
  audit: AUDIT,
  branches: BRANCHES,
  cashiers: CASHIERS,
  classifier: CLASSIFIER,
  clients: CLIENTS,
  devices: DEVICES,
  groups: GROUPS,
  invitations: INVITATIONS,
  me: ME,
  merchant: MERCHANT,
  messageAccounts: MESSAGE_ACCOUNTS,
  messages: MESSAGES,
  onboarding: ONBOARDING,
  operator: OPERATOR,
  overview: OVERVIEW,
  platform: PLATFORM,
  products: PRODUCTS,
  providerAccounts: PROVIDER_ACCOUNTS,
  reports: REPORTS,
  suppressions: SUPPRESSIONS,
  users: USERS,
} as const;
