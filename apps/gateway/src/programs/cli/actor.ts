import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { newId } from '#runtime';
import type { Caller } from '../../audit/caller.js';

/** Injected: who is acting, as the trail names it: `cli`, or `cli:` and the name. */
export const CLI_ACTOR = Symbol('who is acting on the command line');

/** Who acts on the command line, for whatever merchant. */
export type Program = Omit<Caller, 'merchantId'>;

/** As the trail records what the command line does. */
export function programOf(actor: string): Program {
  return { actor, address: null, requestId: newId('cmd') };
}

const NAME = /^[\p{L}\p{N}][\p{L}\p{N} .@_+-]{0,99}$/u;
const OPTION = '--as';

/** Takes `--as NAME` out of the arguments. */
export function withoutActor(args: readonly string[]): { name: string | null; rest: string[] } {
  const at = args.indexOf(OPTION);
  if (at >= 0) return { name: args[at + 1] ?? '', rest: [...args.slice(0, at), ...args.slice(at + 2)] };
  const joined = args.find((arg) => arg.startsWith(`${OPTION}=`));
  return joined === undefined
    ? { name: null, rest: [...args] }
    : { name: joined.slice(OPTION.length + 1), rest: args.filter((arg) => arg !== joined) };
}

/** Null: it is no name. */
export function actorOf(name: string): string | null {
  return NAME.test(name.trim()) ? `cli:${name.trim()}` : null;
}

/** Asks a person at a terminal; in a script the account of the machine is who is acting. */
export async function askForActor(terminal: { input: NodeJS.ReadStream; output: NodeJS.WriteStream }): Promise<string> {
  const account = accountName();
  if (terminal.input.isTTY !== true || terminal.output.isTTY !== true) return actorOf(account) ?? 'cli';
  const lines = createInterface(terminal);
  try {
    for (;;) {
      const name = (
        await lines.question(`Who is acting (name or e-mail; it stands on the audit trail)? [${account}] `)
      ).trim();
      const actor = actorOf(name === '' ? account : name);
      if (actor !== null) return actor;
    }
  } finally {
    lines.close();
  }
}

function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return 'unknown';
  }
}
