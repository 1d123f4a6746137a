/**
 * The methods that need no code of their own, one line each: what is called (resource.ts), and its path below that of the resource.
 * A path that begins with `/` is one below /v1; without any it is that of the resource itself.
 */

const READ = { list: 'LIST', get: 'GET {id}' } as const;
const KEPT = { ...READ, create: 'POST', change: 'PATCH {id}' } as const;
const REMOVE = { remove: 'DELETE {id}' } as const;
/** Branches, cashiers and groups are handled alike. */
const PLACES = { ...KEPT, archive: 'DELETE {id}', restore: 'DO {id}/restore' } as const;

/** By the name that each has in `FiscalGateway`; in kebab case it is the resource's path below /v1. */
export const RESOURCES = {
  audit: {
    list: 'LIST',
    /** Whether the trail is as it was written, part by part. */
    verification: 'READ verification',
  },

  branches: PLACES,

  cashiers: PLACES,

  catalog: {
    /** Products that the classification register has overtaken. */
    affected: 'LIST affected',
    /** All products as CSV, XLSX or JSONL. */
    export: 'FILE export',
    getImport: 'GET imports/{id}',
    /** The rows that an import did not take, with reasons. */
    rejectedRows: 'FILE imports/{id}/rejected',
    /** Which products the lines of a sale mean. */
    resolve: 'POST resolve',
    /** A full synchronisation: begin, add pages, commit. What was not sent is archived with the commit. */
    beginSync: 'DO syncs',
    getSync: 'GET syncs/{id}',
    addToSync: 'PUT syncs/{id}/products',
    commitSync: 'DO syncs/{id}/commit',
    abortSync: 'DO syncs/{id}/abort',
  },

  /** The national classification register (SPIC codes). */
  classifier: {
    search: 'LIST',
    /** Each load of the register, the newest first. */
    imports: 'LIST imports',
    get: 'GET {spic}',
    export: 'FILE export',
  },

  clients: {
    ...KEPT,
    /** The answer shows the secret, once. */
    create: 'POST',
    disable: 'DO {id}/disable',
    enable: 'DO {id}/enable',
    renewSecret: 'POST {id}/secret',
    keys: 'LIST {id}/keys',
    addKey: 'POST {id}/keys',
    disableKey: 'DELETE {id}/keys/{key}',
  },

  devices: {
    ...READ,
    ...REMOVE,
    register: 'POST',
    change: 'PATCH {id}',
    /** Asks the register now. `pending`: it takes longer, and `task` shows what becomes of it. */
    check: 'DO {id}/check',
    task: 'GET {id}/tasks/{taskId}',
    shift: 'GET {id}/shift',
    openShift: 'DO {id}/shift/open',
    closeShift: 'DO {id}/shift/close',
    zReports: 'LIST {id}/z-reports',
    attempts: 'LIST {id}/attempts',
    /** No new receipts; what waits goes out. */
    drain: 'DO {id}/drain',
    resume: 'DO {id}/resume',
    /** Stops the lane where it is. */
    disable: 'DO {id}/disable',
    enable: 'DO {id}/enable',
    /** A code with which the register dials in. */
    enrol: 'POST {id}/enrolments',
    endLinkKey: 'DELETE {id}/link-key',
    challengeTerminal: 'DO {id}/terminal-challenge',
    proveTerminal: 'POST {id}/terminal-proof',
  },

  /** Registers that may stand in for one another beyond a branch. */
  groups: PLACES,

  invitations: {
    list: 'LIST',
    /** The answer shows the link, once. */
    create: 'POST',
    withdraw: 'DELETE {id}',
  },

  /** Who calls, and what it may do. */
  me: { get: 'GET' },

  merchant: {
    get: 'GET',
    change: 'PATCH',
    /** What its receipts look like. */
    brand: 'GET brand',
    changeBrand: 'PUT brand',
  },

  /** Through whom messages go to buyers. */
  messageAccounts: {
    ...KEPT,
    ...REMOVE,
    /** Sends a message through this account alone. */
    test: 'POST {id}/test',
  },

  /** Receipts sent to buyers; those of one receipt are at `receipts.messages`. */
  messages: {
    list: 'LIST',
    /** What messages say, by channel and language. */
    templates: 'LIST /message-templates',
    changeTemplate: 'PUT /message-templates',
    /** What a message would say; sends nothing. */
    preview: 'POST /message-templates/preview',
  },

  /** Registers of payment providers, held against payments and receipts. */
  settlements: {
    ...READ,
    differences: 'LIST {id}/differences',
    /** How a provider's register is read. */
    form: 'GET /settlement-forms/{provider}',
    changeForm: 'PUT /settlement-forms/{provider}',
  },

  /** What is missing before the first receipt. */
  onboarding: { get: 'GET' },

  /** What only a person can decide. */
  operator: {
    /** Receipts that need a decision. */
    unknown: 'LIST unknown',
    /** What runs out at each register. */
    countdowns: 'LIST countdowns',
    resolve: 'POST attempts/{id}/resolve',
    park: 'POST attempts/{id}/park',
    adoptModule: 'POST devices/{id}/adopt',
    unblock: 'POST devices/{id}/unblock',
    noteDelivered: 'POST devices/{id}/delivered',
    resolvePayment: 'POST payments/{id}/resolve',
    retryPayment: 'POST payments/{id}/retry',
    notePaymentDocument: 'POST payments/{id}/document',
    endExtraCharge: 'POST payments/{id}/extra-charges',
  },

  /** Sums of today and the last 30 days, how long registering takes, and what runs out next. */
  overview: { get: 'GET' },

  /** Which provider takes a payment whose provider is `auto`. */
  paymentRouting: { get: 'GET', replace: 'PUT' },

  payments: {
    ...READ,
    cancel: 'DO {id}/cancel',
    /** Takes money that is reserved; the receipt follows. */
    capture: 'DO {id}/capture',
    /** The one-time code that the provider sent to the customer. */
    confirm: 'POST {id}/confirm',
    /** Whether the goods were handed over, where the receipt waits for that. */
    deliver: 'POST {id}/delivered',
    /** All that is left of a payment for several receipts; each is refunded once the money is back. */
    refund: 'DO {id}/refunds',
    /** Differences between money and receipts. */
    reconciliation: 'LIST reconciliation',
  },

  /** All merchants of the installation (scope platform:admin). */
  platform: {
    merchants: 'LIST merchants',
    createMerchant: 'POST merchants',
    merchant: 'GET merchants/{id}',
    changeMerchant: 'PATCH merchants/{id}',
    /** It accepts nothing; what it has accepted is finished. */
    suspendMerchant: 'POST merchants/{id}/suspend',
    resumeMerchant: 'DO merchants/{id}/resume',
    /** By month. */
    usage: 'LIST merchants/{id}/usage',
    /** The answer shows the secret, once. */
    createClient: 'POST merchants/{id}/clients',
    invitations: 'LIST merchants/{id}/invitations',
    /** Invites its owner; the answer shows the link, once. */
    inviteOwner: 'POST merchants/{id}/invitations',
    withdrawInvitation: 'DELETE merchants/{id}/invitations/{invitationId}',
    /** Sums of all live merchants. */
    overview: 'GET overview',
    /** Who runs: gateways, relays, queue, database. */
    health: 'GET health',
    /** The version of the classification register in force, and those that it can go back to. */
    classifier: 'GET classifier',
    classifierBack: 'POST classifier/back',
    /** It fetches new versions again. */
    resumeClassifier: 'POST classifier/resume',
  },

  /** The merchant's own catalogue. */
  products: {
    list: 'LIST /catalog/products',
    /** Adds and changes by `sku`; each product has a result of its own. */
    upsert: 'PUT /catalog/products',
    get: 'GET /catalog/products/{sku}',
    change: 'PATCH /catalog/products/{sku}',
    archive: 'DELETE /catalog/products/{sku}',
    /** What has changed since a cursor, so that a copy elsewhere stays complete. */
    changes: 'LIST /catalog/changes',
  },

  providerAccounts: {
    ...KEPT,
    disable: 'DELETE {id}',
    /** Asks the provider whether it takes the account's credentials; no money can move. */
    test: 'POST {id}/test',
  },

  /** What of receipts needs no code of its own. */
  receipts: {
    /** The refunds of a sale; each page says under `left` what can still be refunded. */
    refunds: 'LIST {id}/refunds',
    /** What has happened to it, oldest first. */
    timeline: 'LIST {id}/timeline',
    /** What was sent to the buyer. */
    messages: 'LIST {id}/messages',
    sendMessage: 'POST {id}/messages',
    /** The customer's receipt as page, PDF, picture or text. */
    document: 'FILE {id}/document',
    /** NDJSON, CSV or XLSX, as a stream. */
    export: 'FILE export',
    /** Adds a fiscal sign that the register did not give, as the OFD shows it (scope operator:resolve). */
    completeFiscal: 'POST {id}/fiscal',
  },

  reports: {
    /** By day, register, branch or VAT rate; the whole period is one page. */
    turnover: 'LIST turnover',
    /** Own sums beside those of the Z-reports. */
    reconciliation: 'LIST reconciliation',
  },

  /** Addresses to which nothing is sent. */
  suppressions: { ...REMOVE, list: 'LIST', add: 'POST' },

  /** People who work for the merchant. */
  users: {
    ...READ,
    ...REMOVE,
    /** The roles that it has from now on. */
    change: 'PATCH {id}',
  },

  webhooks: {
    ...KEPT,
    ...REMOVE,
    /** The answer shows the secret, once. */
    create: 'POST',
    /** `enabled: true` sends what had waited. Another origin in `url` makes a new secret, shown in the answer. */
    change: 'PATCH {id}',
    /** Sends `webhook.test` to this endpoint alone. */
    test: 'DO {id}/test',
    /** A new secret; the one before signs too for a while: verify with both. */
    rotateSecret: 'POST {id}/rotate-secret',
    deliveries: 'LIST {id}/deliveries',
    /** One delivery with the request that carries it. */
    delivery: 'GET {id}/deliveries/{deliveryId}',
    /** Sends again what was given up between two times, and nothing else. */
    recover: 'POST {id}/recover',
    /** Sends one event again, or all of a time. */
    replay: 'POST {id}/replay',
    /** What was sent to the `callback_url` of a receipt. */
    callbacks: 'LIST callbacks',
    /** Shows the secret that signs callbacks, and changes it; the one before signs too for a while. */
    rotateCallbackSecret: 'POST callbacks/rotate-secret',
  },
} as const;
