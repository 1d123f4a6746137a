/** What a script can go by; docs/cli.md lists them. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  /** The gateway refused the request. */
  refused: 3,
  /** No profile, wrong credentials, a scope or a signature that is missing. */
  denied: 4,
  /** No answer, or "later": the same command with the same key may be repeated. */
  noAnswer: 5,
  /** The receipt was rejected or cancelled: no document exists. */
  notRegistered: 6,
  unknown: 7,
  /** The receipt was still on its way when the time was up. */
  onItsWay: 8,
  /** `doctor` found a fault. */
  unhealthy: 9,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
