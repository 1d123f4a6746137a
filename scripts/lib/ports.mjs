import { portOf } from './paths.mjs';
import { isPortFree, waitUntil } from './processes.mjs';
import { UserError } from './user-error.mjs';

/**
 * Refuses to begin when a port is taken. Programs of a start that was just killed need a moment to give theirs back.
 * @param {import('./programs.mjs').Program[]} programs
 * @param {NodeJS.ProcessEnv} env
 */
export async function assertPortsFree(programs, env) {
  /** @type {Map<number, string>} */
  const seen = new Map();
  for (const { title, portName, defaultPort } of programs) {
    const port = portOf(env, portName, defaultPort);
    const other = seen.get(port);
    if (other !== undefined) throw new UserError(`${portName} and ${other} are the same port, ${port}.`);
    seen.set(port, portName);
    if (await waitUntil(() => isPortFree(port), 5_000)) continue;
    throw new UserError(
      `Port ${port}, meant for the ${title}, is taken by another program (or another npm start); ` +
        `end that one, or set ${portName} to a free port.`,
    );
  }
}
