import { Matches } from 'class-validator';

/** RFC 7636: base64url of a SHA-256. */
export const CHALLENGE = /^[\w-]{43}$/;
const VERIFIER = /^[\w.~-]{43,128}$/;
const CODE = /^[\w-]{1,1024}$/;
export const PORTS = { from: 1_024, to: 65_535 } as const;

export class TerminalCodeBody {
  /** S256 of the verifier that the command line keeps (RFC 7636). */
  @Matches(CHALLENGE, { message: 'code_challenge must be 43 characters of base64url' })
  code_challenge!: string;
}

export class TerminalTokenBody {
  /** What the browser has brought to the command line. */
  @Matches(CODE, { message: 'code must be base64url' })
  code!: string;

  /** What `code_challenge` was made of. */
  @Matches(VERIFIER, { message: 'code_verifier must be 43 to 128 characters, as RFC 7636 says' })
  code_verifier!: string;
}
