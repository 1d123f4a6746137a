import { ConnectionError, OAuthError, ProblemError, UsageError, type FiscalGateway } from '#sdk';
import { fault, ok, skipped, warning, type Finding } from './finding.js';

const ONCE = { retry: { attempts: 1 } };

const REFUSED_SIGNATURE: Readonly<Record<string, string>> = {
  signature_missing: 'This client must sign its writes: `fgw login --key-id … --signing-key-file …` (docs/signing.md).',
  signature_invalid:
    'Key and key id do not belong together, the key is disabled, or the gateway does not know the host by which you call it (PUBLIC_HOSTS).',
  signature_expired: 'Set the clock.',
};

export interface Admitted {
  finding: Finding;
  /** Null: no token was given. */
  scopes: readonly string[] | null;
}

export async function checkToken(fgw: FiscalGateway): Promise<Admitted> {
  try {
    const { expiresIn, scopes = [] } = await fgw.accessToken();
    return { finding: ok('token', `given for ${expiresIn} s: ${scopes.join(' ')}`), scopes };
  } catch (error) {
    return { finding: tokenFault(error), scopes: null };
  }
}

function tokenFault(error: unknown): Finding {
  if (error instanceof OAuthError) {
    const todo =
      error.code === 'invalid_client'
        ? 'Id or secret is wrong, or the client is disabled: `fgw login` again, or renew the secret.'
        : 'See docs/access.md for this code.';
    return fault('token', `refused: ${error.code}`, todo);
  }
  if (error instanceof ProblemError) return fault('token', `refused: ${error.code}`, addressTodo(error));
  if (error instanceof ConnectionError)
    return fault('token', error.message, 'Try again; then see the log of the gateway.');
  throw error;
}

/** Whether a call below /v1 gets through, with the first scope that can be tried without doing anything. */
export async function checkAccess(
  fgw: FiscalGateway,
  scopes: readonly string[],
  signal: AbortSignal,
): Promise<Finding> {
  if (!scopes.includes('receipts:read')) return skipped('access', 'needs the scope receipts:read');
  try {
    await fgw.receipts.list({ limit: 1 }, { ...ONCE, signal }).first();
    return ok('access', 'receipts can be read');
  } catch (error) {
    if (error instanceof ProblemError) return fault('access', `refused: ${error.code}`, addressTodo(error));
    if (error instanceof ConnectionError)
      return fault('access', error.message, 'Try again; then see the log of the gateway.');
    throw error;
  }
}

/** A sale that no check lets pass is tried, not made: what is refused of it shows that its signature was accepted. */
export async function checkSignature(
  fgw: FiscalGateway,
  { scopes, hasKey, signal }: { scopes: readonly string[]; hasKey: boolean; signal: AbortSignal },
): Promise<Finding> {
  if (!scopes.includes('receipts:write')) return skipped('signature', 'needs the scope receipts:write');
  try {
    await fgw.receipts.validate({ items: [] } as never, { ...ONCE, signal });
  } catch (error) {
    if (error instanceof UsageError) return fault('signature', error.message, 'Mend the key of the profile.');
    if (error instanceof ConnectionError) return fault('signature', error.message, 'Try again.');
    if (!(error instanceof ProblemError)) throw error;
    const { status, code } = error;
    if (status === 401)
      return fault(
        'signature',
        `refused: ${code}`,
        REFUSED_SIGNATURE[code] ?? 'docs/signing.md says what the code means.',
      );
    if (status !== 400 && status !== 422)
      return fault('signature', `not tried: ${code}`, 'docs/errors.md says what the code means.');
  }
  return hasKey ? ok('signature', 'accepted') : ok('signature', 'not demanded of this client, and no key is set');
}

/** Each register, as it is known now; those that are not well are asked once more. */
export async function checkRegisters(
  fgw: FiscalGateway,
  scopes: readonly string[],
  signal: AbortSignal,
): Promise<Finding[]> {
  if (!scopes.includes('devices:admin')) return [skipped('registers', 'needs the scope devices:admin')];
  const findings: Finding[] = [];
  for await (const { id, name } of fgw.devices.list({ limit: 100 }, { signal })) {
    findings.push(await checkRegister(fgw, { id, name }, signal));
  }
  if (findings.length > 0) return findings;
  return [fault('registers', 'there is none', 'Register one: docs/fleet.md#registering-a-register.')];
}

async function checkRegister(
  fgw: FiscalGateway,
  { id, name }: { id: string; name: string },
  signal: AbortSignal,
): Promise<Finding> {
  try {
    await fgw.devices.check(id, { ...ONCE, signal });
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return fault('registers', `${name} (${id}): ${error.code}`, `${error.message} See \`fgw devices get ${id}\`.`);
  }
  const { state, state_reason: why, lane } = await fgw.devices.get(id, { signal });
  const found = `${name} (${id}): ${state}${why === null ? '' : `, ${why}`}, ${lane.waiting} waiting`;
  if (state === 'online') return ok('registers', found);
  const todo = `docs/watch.md says what ${state} means; \`fgw devices get ${id}\` shows what runs out.`;
  return state === 'degraded' ? warning('registers', found, todo) : fault('registers', found, todo);
}

function addressTodo({ code }: ProblemError): string {
  if (code === 'ip_not_allowed') return "This machine's address is not on the client's list: docs/access.md.";
  if (code === 'too_many_requests') return 'Wait, then try again.';
  return 'docs/errors.md says what the code means.';
}
