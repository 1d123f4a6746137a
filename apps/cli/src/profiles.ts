import { readFile } from 'node:fs/promises';
import { UsageError, type ClientOptions, type SigningOptions } from '#sdk';
import { isReadableOnTheWay, isSameOrigin } from './addresses.js';
import { readJsonFile, writePrivateJson } from './private-file.js';
import type { Environment } from './settings.js';

/** One gateway, and one client of it or one person's session there. */
export interface Profile {
  url: string;
  /** Of a session the id of its user. */
  client_id: string;
  /** Left out: a session. */
  client_secret?: string;
  session?: PersonSession;
  key_id?: string;
  /** The private key stays where it is. */
  signing_key_file?: string;
  key_secret?: string;
}

/** What a person has confirmed in a browser. */
export interface PersonSession {
  token: string;
  expires_at: string;
  scopes: string[];
  /** For which of its merchants it acts; left out: for the platform, or none is chosen. */
  merchant_id?: string;
}

interface ConfigFile {
  profiles: Record<string, Profile>;
}

/** There is nothing to log in with. */
export class NoProfileError extends Error {
  override name = 'NoProfileError';
}

/** The file with what `fgw login` was given. */
export class Profiles {
  constructor(readonly file: string) {}

  async find(name: string): Promise<Profile | null> {
    const { profiles } = await this.read();
    return (Object.hasOwn(profiles, name) ? profiles[name] : undefined) ?? null;
  }

  async keep(name: string, profile: Profile): Promise<void> {
    const { profiles } = await this.read();
    await writePrivateJson(this.file, { profiles: { ...profiles, [name]: profile } });
  }

  /** @returns false when there was none */
  async remove(name: string): Promise<boolean> {
    const { profiles } = await this.read();
    if (!Object.hasOwn(profiles, name)) return false;
    const others = Object.fromEntries(Object.entries(profiles).filter(([other]) => other !== name));
    await writePrivateJson(this.file, { profiles: others });
    return true;
  }

  private async read(): Promise<ConfigFile> {
    const content = (await readJsonFile(this.file)) as Partial<ConfigFile> | null;
    return { profiles: content?.profiles ?? {} };
  }
}

/**
 * The profile with what the environment and the command line say instead.
 * @throws NoProfileError
 * @throws UsageError when the profile's secret would go to another gateway than its own
 */
export function effectiveProfile(kept: Profile | null, environment: Environment, url: string | null): Profile {
  const address = url ?? environment.url;
  if (kept !== null && address !== null && !isSameOrigin(address, kept.url)) {
    if (environment.clientId === null || environment.clientSecret === null) throw foreignOrigin(address, kept.url);
    // Another gateway: neither the client nor the key of the profile is known there.
    return effectiveProfile(null, environment, url);
  }
  if (kept?.session !== undefined && environment.clientId === null) return { ...kept, url: address ?? kept.url };
  const merged = {
    url: address ?? kept?.url,
    client_id: environment.clientId ?? kept?.client_id,
    client_secret: environment.clientSecret ?? kept?.client_secret,
  };
  const { url: base, client_id: clientId, client_secret: clientSecret } = merged;
  if (base === undefined || clientId === undefined || clientSecret === undefined) {
    throw new NoProfileError('Not logged in. Run `fgw login`, or set FGW_URL, FGW_CLIENT_ID and FGW_CLIENT_SECRET.');
  }
  const keyId = environment.keyId ?? kept?.key_id;
  const keyFile = environment.signingKeyFile ?? kept?.signing_key_file;
  const keySecret = environment.keySecret ?? kept?.key_secret;
  return {
    url: base,
    client_id: clientId,
    client_secret: clientSecret,
    ...(keyId !== undefined && { key_id: keyId }),
    ...(keyFile !== undefined && { signing_key_file: keyFile }),
    ...(keySecret !== undefined && { key_secret: keySecret }),
  };
}

/** A secret goes to the gateway that it was given for, and to no other. */
export function foreignOrigin(address: string, own: string): UsageError {
  return new UsageError(
    `${address} is not the gateway of these credentials (${own}): set FGW_CLIENT_ID and FGW_CLIENT_SECRET for it, or log in there.`,
  );
}

/** @throws UsageError for http to another machine, unless that is allowed */
export async function clientOptionsOf(
  profile: Profile,
  { isInsecure }: { isInsecure: boolean },
): Promise<ClientOptions> {
  refuseReadable(profile.url, isInsecure);
  const { session } = profile;
  if (session !== undefined) return sessionOptions(profile.url, session);
  const signing = await signingOf(profile);
  return {
    baseUrl: profile.url,
    credentials: { clientId: profile.client_id, clientSecret: profile.client_secret ?? '' },
    ...(signing !== null && { signing }),
  };
}

/** @throws UsageError for http to another machine, unless that is allowed */
export function refuseReadable(url: string, isInsecure: boolean): void {
  if (isInsecure || !isReadableOnTheWay(url)) return;
  throw new UsageError(
    `${url} is http to another machine: secret and token can be read on the way. Use https, or --insecure.`,
  );
}

/** A person signs nothing, and names its merchant with each request. */
function sessionOptions(
  baseUrl: string,
  { token, expires_at: until, scopes, merchant_id: merchant }: PersonSession,
): ClientOptions {
  const expiresIn = Math.max(0, Math.floor((Date.parse(until) - Date.now()) / 1_000));
  return {
    baseUrl,
    credentials: () => Promise.resolve({ accessToken: token, expiresIn, scopes }),
    ...(merchant !== undefined && { fetch: (input, init) => globalThis.fetch(input, withMerchant(init, merchant)) }),
  };
}

function withMerchant(init: RequestInit | undefined, merchant: string): RequestInit {
  const headers = new Headers(init?.headers);
  headers.set('fgw-merchant', merchant);
  return { ...init, headers };
}

async function signingOf({
  key_id: keyId,
  signing_key_file: file,
  key_secret: secret,
}: Profile): Promise<SigningOptions | null> {
  if (keyId === undefined) return null;
  if (secret !== undefined) return { keyId, secret };
  if (file === undefined) throw new UsageError('A key id needs FGW_SIGNING_KEY_FILE or FGW_KEY_SECRET.');
  return { keyId, privateKey: await readFile(file, 'utf8') };
}
