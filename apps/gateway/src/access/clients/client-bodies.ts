import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsOptional, ValidateBy } from 'class-validator';
import { parseCidr } from '#outgoing';
import { AreSomeOf, IsGivenOrAbsent, IsName, IsWholeNumber } from '../../http/body-rules.js';
import { PageQuery } from '../../http/paging.js';
import { SCOPES, type Scope } from '../../http/scopes.js';
import { AUTH_METHODS, type AuthMethod } from '../oauth/auth-methods.js';

export const IP_POLICIES = ['any', 'listed'] as const;
export type IpPolicy = (typeof IP_POLICIES)[number];

export const SIGNING_POLICIES = ['auto', 'off', 'writes', 'all'] as const;
export type SigningPolicy = (typeof SIGNING_POLICIES)[number];

const MAX_CIDRS = 100;
/** A month: longer than any change of a secret takes. */
const MAX_OVERLAP_SECONDS = 30 * 86_400;

/** `10.0.0.0/8`, `2001:db8::/32`, or one address. */
function IsCidr(): PropertyDecorator {
  const faultOf = (value: unknown): string | null => {
    if (typeof value !== 'string') return 'must be a text';
    const parse = parseCidr(value);
    return parse.kind === 'ok' ? null : parse.reason;
  };
  const validator = {
    validate: (value: unknown) => !Array.isArray(value) || value.every((entry) => faultOf(entry) === null),
    defaultMessage: (args?: { value: unknown }) => {
      const entries: unknown[] = Array.isArray(args?.value) ? args.value : [];
      const at = entries.findIndex((entry) => faultOf(entry) !== null);
      return `entry ${String(at)} is not a network: ${faultOf(entries[at]) ?? ''}`;
    },
  };
  return ValidateBy({ name: 'isCidr', validator }, { context: { code: 'invalid_value' } });
}

/** What may be left out when a client is made, and later. */
class ClientOptions {
  /** With `listed` the only networks; empty: from nowhere. */
  @IsGivenOrAbsent()
  @IsArray()
  @ArrayMaxSize(MAX_CIDRS)
  @IsCidr()
  allowed_cidrs?: string[];

  @IsGivenOrAbsent()
  @IsBoolean()
  require_idempotency_key?: boolean;

  /** Which of its requests must be signed (docs/signing.md). */
  @IsGivenOrAbsent()
  @IsIn(SIGNING_POLICIES)
  signing_policy?: SigningPolicy;

  /** How it may prove itself at the token endpoint; all ways when it is made, unless given. `private_key_jwt` alone needs a registered key. */
  @IsGivenOrAbsent()
  @AreSomeOf(AUTH_METHODS, { least: 1 })
  token_endpoint_auth_methods?: AuthMethod[];
}

export class ClientBody extends ClientOptions {
  @IsName()
  name!: string;

  /** At least what the caller's token has may be given, never more. */
  @AreSomeOf(SCOPES)
  scopes!: Scope[];

  /** From where it may call. Has to be said: `any` is a decision. */
  @IsIn(IP_POLICIES)
  ip_policy!: IpPolicy;
}

export class ClientPatch extends ClientOptions {
  @IsGivenOrAbsent()
  @IsName()
  name?: string;

  @IsGivenOrAbsent()
  @AreSomeOf(SCOPES)
  scopes?: Scope[];

  @IsGivenOrAbsent()
  @IsIn(IP_POLICIES)
  ip_policy?: IpPolicy;
}

export class RotateSecretBody {
  /** How long the present secret stays good beside the new one. Default one day; 0 ends it at once. */
  @IsGivenOrAbsent()
  @IsWholeNumber(0, MAX_OVERLAP_SECONDS)
  overlap_seconds?: number;

  /** Also end every token that the client has now. Default false: they live for at most 15 minutes. */
  @IsGivenOrAbsent()
  @IsBoolean()
  revoke_tokens?: boolean;
}

export class ClientQuery extends PageQuery {
  /** `true`: also disabled ones. */
  @IsOptional()
  @IsIn(['true', 'false'])
  disabled?: string;
}
