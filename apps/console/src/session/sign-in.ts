import { callState, sendBare } from '../api/call.js';
import { ApiProblem } from '../api/problem.js';
import { forgetDrafts } from '../ui/use-draft.js';
import type { Me } from './session-context.js';

export interface LoginMethods {
  oidc: { name: string } | null;
  embedded: boolean;
  passkeys: boolean;
}

/** What an authenticator gave, as the gateway reads it. */
export type CredentialJson = ReturnType<PublicKeyCredential['toJSON']>;

const MERCHANT_KEY = 'console-merchant';
/** Whose this tab is; in the storage of the browser, who has logged in last. */
export const PERSON_KEY = 'console-person';
/** Kept in the place of a merchant by a user of the platform that acts for the whole installation. */
export const WHOLE_PLATFORM = 'platform';

async function post<T>(path: string, body: unknown): Promise<T> {
  const response = await sendBare({ method: 'POST', path, body });
  return (await response.json()) as T;
}

export async function loginMethods(): Promise<LoginMethods> {
  return (await (await sendBare({ method: 'GET', path: '/auth/methods' })).json()) as LoginMethods;
}

export function loginByPassword(given: { email: string; password: string; code: string }): Promise<Me> {
  return post<Me>('/auth/login', given);
}

/** @throws ApiProblem with `login_failed` when the person turned the authenticator away. */
export async function loginByPasskey(): Promise<Me> {
  const { options } = await post<{ options: PublicKeyCredentialRequestOptionsJSON }>('/auth/passkey/options', {});
  return post<Me>('/auth/passkey', { credential: await readPasskey(options) });
}

export async function stepUpByPasskey(): Promise<Me> {
  const { options } = await post<{ options: PublicKeyCredentialRequestOptionsJSON }>('/v1/session/step-up/options', {});
  return post<Me>('/v1/session/step-up/passkey', { credential: await readPasskey(options) });
}

export function stepUpByCode(code: string): Promise<Me> {
  return post<Me>('/v1/session/step-up', { code });
}

/** The browser leaves for the provider; what was typed is kept as drafts, and it comes back to this address. */
export async function goToProvider(
  more: { step_up?: true; invitation?: string; return_to?: string } = {},
): Promise<void> {
  const here = `${location.pathname}${location.search}`;
  const { redirect_url: url } = await post<{ redirect_url: string }>('/auth/oidc/start', { return_to: here, ...more });
  location.assign(url);
}

export async function readPasskey(options: PublicKeyCredentialRequestOptionsJSON): Promise<CredentialJson> {
  return credentialOf(() =>
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }),
  );
}

export async function makePasskey(options: PublicKeyCredentialCreationOptionsJSON): Promise<CredentialJson> {
  return credentialOf(() =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }),
  );
}

async function credentialOf(ask: () => Promise<Credential | null>): Promise<CredentialJson> {
  let credential: Credential | null;
  try {
    credential = await ask();
  } catch (error) {
    throw new ApiProblem(0, 'passkey', error instanceof Error ? error.message : String(error));
  }
  if (!(credential instanceof PublicKeyCredential)) throw new ApiProblem(0, 'passkey', 'no credential');
  return credential.toJSON();
}

/** Who is here, in the merchant that this tab shows, or else the one that was chosen last; null when no session is. */
export async function readMe(): Promise<Me | null> {
  const me = await readMeAt(sessionStorage.getItem(MERCHANT_KEY) ?? localStorage.getItem(MERCHANT_KEY));
  if (me === null) return null;
  const isOfAnother = takeTab(me);
  if (me.kind === 'user') {
    const merchant = me.merchant?.id ?? WHOLE_PLATFORM;
    // From now on it is this tab's, whatever is chosen in others: what stands on its screens is of this merchant.
    sessionStorage.setItem(MERCHANT_KEY, merchant);
    if (shownOf !== null && shownOf !== merchant) return leaveMerchant();
    shownOf = merchant;
  }
  return isOfAnother ? beginAnew() : me;
}

/** The merchant before was lost meanwhile: what was typed for it, or waits to be repeated, must not be done at this one. */
function leaveMerchant(): Promise<never> {
  forgetDrafts();
  return beginAnew();
}

/** For whom this page has read something, and of which merchant. */
let shownTo: string | null = null;
let shownOf: string | null = null;

/**
 * What is shown and typed in a tab is one person's; other tabs hear who it is from now on. Nothing that was typed stays for another.
 * @returns whether the page was read for another one: begin anew
 */
export function takeTab({ user, kind }: Me): boolean {
  const person = user?.id ?? kind;
  const before = sessionStorage.getItem(PERSON_KEY);
  if (before !== null && before !== person) forgetDrafts();
  sessionStorage.setItem(PERSON_KEY, person);
  if (localStorage.getItem(PERSON_KEY) !== person) localStorage.setItem(PERSON_KEY, person);
  const isOfAnother = shownTo !== null && shownTo !== person;
  shownTo = person;
  return isOfAnother;
}

/** A fresh page: nothing that was read before stays in it. */
export function beginAnew(): Promise<never> {
  location.assign('/console');
  return new Promise(() => undefined);
}

async function readMeAt(chosen: string | null): Promise<Me | null> {
  try {
    const me = await askMe(chosen === WHOLE_PLATFORM ? null : chosen);
    const first = me.memberships?.[0]?.merchant.id;
    const isOfPlatform = chosen === WHOLE_PLATFORM && (me.platform_roles ?? []).length > 0;
    if (isOfPlatform || me.kind !== 'user' || me.merchant || first === undefined) return me;
    return await askMe(first);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    if (error.status === 401) return null;
    // The user has lost the merchant that was chosen last.
    if (chosen === null || (error.code !== 'merchant_refused' && error.code !== 'invalid_header')) throw error;
    keepMerchant(null);
    return readMeAt(null);
  }
}

async function askMe(merchantId: string | null): Promise<Me> {
  callState.merchantId = merchantId;
  return (await (await sendBare({ method: 'GET', path: '/v1/me' })).json()) as Me;
}

/** Of this tab, and of those that are opened from now on. */
export function keepMerchant(id: string | null): void {
  for (const storage of [sessionStorage, localStorage]) {
    if (id === null) storage.removeItem(MERCHANT_KEY);
    else storage.setItem(MERCHANT_KEY, id);
  }
  callState.merchantId = id;
}
