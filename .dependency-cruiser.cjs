/**
 * The cut of the system (docs/architecture.md): who may know whom. Tests and the helpers in testing/ see what they test.
 * @type {import('dependency-cruiser').IConfiguration}
 */
const TESTS = '(\\.(spec|int-spec|e2e-spec|long-spec)\\.ts$|/testing/)';

/**
 * The folders of an app, ground floor first. Each knows those before it and none after it, nor those beside it. `together`: the files
 * that put the app together, which no folder knows. `below`: files that only the floors from the named one on may know.
 * @typedef {{ app: string, name: string, floors: string[][], together: string, below?: { floor: string, files: string } }} Building
 * @type {Building[]}
 */
const HOUSES = [
  {
    app: 'gateway',
    name: 'gateway-context',
    floors: [
      ['http'],
      ['audit'],
      ['access'],
      ['fleet'],
      ['goods'],
      ['receipts'],
      ['payments'],
      ['notify', 'operator'],
      ['console', 'docs', 'programs'],
    ],
    together: 'main|gateway\\.module|databases|stop-gateway',
  },
  {
    app: 'device-relay',
    name: 'relay-folder',
    floors: [
      ['emulated', 'events', 'links', 'shares'],
      ['devices'],
      ['copies'],
      ['lanes'],
      ['tasks'],
      ['shifts'],
      ['ofd-watch'],
      ['health'],
      ['archive', 'failover', 'inspection', 'restore'],
    ],
    together: 'main|relay\\.module|stop-relay|watch|watch\\.module',
  },
  {
    app: 'cash-register',
    name: 'register-folder',
    floors: [
      ['classifier', 'emulator', 'journal'],
      ['fiscal-module', 'ofd'],
      ['receipts', 'shifts'],
      ['local-api'],
      ['screen'],
    ],
    together: 'main|register\\.module|register-host|server',
    below: { floor: 'local-api', files: 'access-token|register' },
  },
];

/**
 * @param {Building} building
 * @returns what a folder may not import: those above it, those beside it, and the files that put the app together
 */
function folderRules({ app, name, floors, together, below }) {
  const inApp = (names) => `^apps/${app}/src/(${names.join('|')})/`;
  const rules = floors.flatMap((beside, floor) =>
    beside.map((folder) => {
      const strangers = [...beside.filter((other) => other !== folder), ...floors.slice(floor + 1).flat()];
      const isBelow = below !== undefined && floor < floors.findIndex((names) => names.includes(below.floor));
      const files = `^apps/${app}/src/(${isBelow ? `${together}|${below.files}` : together})\\.ts$`;
      return {
        name: `${name}-${folder}`,
        comment: 'Arrows between folders run one way (docs/architecture.md).',
        severity: 'error',
        from: { path: inApp([folder]), pathNot: TESTS },
        to: { path: [...(strangers.length > 0 ? [inApp(strangers)] : []), files] },
      };
    }),
  );
  const all = {
    name: `${app}-has-these-folders`,
    comment: 'A new folder beside them belongs into one of them, or gets its floor.',
    severity: 'error',
    from: { path: `^apps/${app}/src/` },
    to: { path: `^apps/${app}/src/[^/]+/`, pathNot: `^apps/${app}/src/(testing|${floors.flat().join('|')})/` },
  };
  return [...rules, all];
}

/** Where HTTP ends in the gateway: controllers, guards and gates of requests, the answers' own files, the program itself. */
const HTTP_EDGES = [
  '\\.controller\\.ts$',
  '^apps/gateway/src/(http|docs)/',
  '^apps/gateway/src/access/(signing|limits)/',
  '^apps/gateway/src/access/people/approvals/four-eyes-gate\\.ts$',
  '^apps/gateway/src/receipts/(receipt-answer|documents/document-query)\\.ts$',
  '^apps/[^/]+/src/(main|server|stop-(gateway|relay))\\.ts$',
  '^apps/cash-register/src/register-host\\.ts$',
  '^apps/device-relay/src/links/(link-endpoint|forward-desk)\\.ts$',
];

module.exports = {
  forbidden: [
    ...HOUSES.flatMap(folderRules),
    {
      name: 'only-edges-know-http',
      comment:
        'Use cases and workers return results or throw a Problem of libs/problems; what HTTP makes of it is not theirs.',
      severity: 'error',
      from: { path: '^apps/', pathNot: [TESTS, ...HTTP_EDGES] },
      to: { path: '^libs/http/' },
    },
    {
      name: 'libs-know-no-http',
      severity: 'error',
      from: { path: '^libs/', pathNot: [TESTS, '^libs/http/'] },
      to: { path: '^libs/http/' },
    },
    {
      name: 'settings-know-no-context',
      severity: 'error',
      from: { path: '^apps/gateway/src/(settings|tokens)\\.ts$' },
      to: { path: '^apps/gateway/src/', pathNot: '^apps/gateway/src/http/(rate|roles|role-rules|scopes)\\.ts$' },
    },
    {
      name: 'no-cycles',
      comment: 'A cycle cannot be understood, tested or moved piece by piece.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-type-cycles-between-packages',
      comment: 'Types may lean on each other within one app or lib, not across.',
      severity: 'error',
      from: { path: '^(apps|libs)/([^/]+)/' },
      to: { circular: true, pathNot: '^$1/$2/' },
    },
    {
      name: 'apps-do-not-know-each-other',
      comment: 'They meet in the database, in the queue and over HTTP; tests put them together.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/', pathNot: TESTS },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'libs-do-not-know-apps',
      severity: 'error',
      from: { path: '^libs/', pathNot: TESTS },
      to: { path: '^(apps|test|bench)/' },
    },
    {
      name: 'libs-only-through-their-index',
      comment: 'What a lib shows is its index.ts; everything else may change without notice.',
      severity: 'error',
      from: { path: '^(apps|libs)/([^/]+)/', pathNot: TESTS },
      to: { path: '^libs/', pathNot: ['^$1/$2/', '^libs/[^/]+/src/index\\.ts$'] },
    },
    {
      name: 'cash-register-stands-alone',
      comment: 'A shop runs register and link agent without the gateway: no database server, no payments, no queue.',
      severity: 'error',
      from: { path: '^(apps/(cash-register|link-agent)|libs/link)/' },
      to: { path: ['^libs/(database|payments|queue)/', 'node_modules/(@prisma|pg|bullmq|ioredis)/'] },
    },
    {
      name: 'fiscal-domain-is-pure',
      comment: 'Rules of money and law run anywhere and need nothing, not even Node.js.',
      severity: 'error',
      from: { path: '^libs/fiscal-domain/', pathNot: TESTS },
      to: { pathNot: '^libs/fiscal-domain/' },
    },
    {
      name: 'sdk-stands-alone',
      comment: 'It is published as a package without dependencies, for runtimes that are not Node.js too.',
      severity: 'error',
      from: { path: '^libs/sdk/', pathNot: TESTS },
      to: { pathNot: '^libs/sdk/' },
    },
    {
      name: 'console-stands-alone',
      comment: 'It runs in a browser: of this repository it knows the types of the description, and nothing that runs.',
      severity: 'error',
      from: { path: '^apps/console/', pathNot: TESTS },
      to: { path: '^(apps|libs|test|bench)/', pathNot: '^apps/console/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'payments-is-framework-free',
      severity: 'error',
      from: { path: '^libs/(payments|messages)/', pathNot: TESTS },
      to: { path: ['^libs/database/', 'node_modules/(@nestjs|@prisma)/'] },
    },
    {
      name: 'implementations-are-chosen-in-modules',
      comment: 'Which queue back end serves is decided where the program is put together, nowhere else.',
      severity: 'error',
      from: { path: '^apps/', pathNot: ['(\\.module|/main)\\.ts$', TESTS] },
      to: { path: 'node_modules/(bullmq|ioredis)/' },
    },
    {
      name: 'no-test-code-in-programs',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: TESTS },
      to: { path: ['/testing/', '\\.(spec|int-spec|e2e-spec|long-spec)\\.ts$'] },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'programs-use-no-dev-dependencies',
      comment: 'They are missing in the container image. What the console uses is in its bundle.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: [TESTS, '^apps/console/'] },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^dist/', '/generated/'] },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['source', 'import', 'node', 'default', 'types'],
    },
  },
};
