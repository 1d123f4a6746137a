import { Matches, MaxLength } from 'class-validator';

/** RFC 7636: base64url of a SHA-256. */
const CHALLENGE = /^[\w-]{43}$/;
const VERIFIER = /^[\w.~-]{43,128}$/;
const CODE = /^[\w-]{1,1024}$/;

export class TerminalCodeBody {
  /** S256 of the verifier that the command line keeps (RFC 7636). */
  @Matches(CHALLENGE, { message: 'code_challenge must be 43 characters of base64url' })
  code_challenge!: string;
}

export class TerminalQuery extends TerminalCodeBody {
  /** Comes back with the code. */
  @Matches(/^[\w-]{16,64}$/, { message: 'state must be 16 to 64 characters of base64url' })
  state!: string;

  /** Where the command line waits, on this computer: 1024 to 65535. */
  @Matches(/^(102[4-9]|10[3-9]\d|1[1-9]\d\d|[2-9]\d{3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/, {
    message: 'port must be a number from 1024 to 65535',
  })
  @MaxLength(5)
  port!: string;
}

export class TerminalTokenBody {
  /** What the browser has brought to the command line. */
  @Matches(CODE, { message: 'code must be base64url' })
  code!: string;

  /** What `code_challenge` was made of. */
  @Matches(VERIFIER, { message: 'code_verifier must be 43 to 128 characters, as RFC 7636 says' })
  code_verifier!: string;
}
