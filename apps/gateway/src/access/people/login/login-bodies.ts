import { IsBoolean, IsObject, IsString, Matches, MaxLength } from 'class-validator';
import { IsEmailShaped } from '../../../http/body-constraints.js';
import { IsFilledText, IsGivenOrAbsent, IsName } from '../../../http/body-rules.js';
import { MAX_PASSWORD_LENGTH } from '../credentials/passwords.js';

/** Longer than any password may be in UTF-16: what is too long is refused by the rule for passwords. */
const MAX_PASSWORD_UNITS = 2 * MAX_PASSWORD_LENGTH;
const CODE = /^\d{6}$/;
const CODE_MESSAGE = { message: 'code must be six digits' };

export class PasswordLoginBody {
  @IsEmailShaped()
  email!: string;

  @IsFilledText(MAX_PASSWORD_UNITS)
  password!: string;

  /** Of the authenticator app. */
  @Matches(CODE, CODE_MESSAGE)
  code!: string;
}

export class CredentialBody {
  /** What the browser's `navigator.credentials` answered, as JSON (WebAuthn). */
  @IsObject()
  credential!: Record<string, unknown>;
}

export class CodeBody {
  /** Of the authenticator app. */
  @Matches(CODE, CODE_MESSAGE)
  code!: string;
}

export class InvitationTokenBody {
  /** What stands behind the `#` of the link. */
  @IsFilledText(128)
  token!: string;
}

export class AcceptInvitationBody extends InvitationTokenBody {
  @IsName()
  name!: string;

  /** With `code`, unless there is a `credential`. */
  @IsGivenOrAbsent()
  @IsFilledText(MAX_PASSWORD_UNITS)
  password?: string;

  /** Of the authenticator app that was set up with the secret of the invitation. */
  @IsGivenOrAbsent()
  @Matches(CODE, CODE_MESSAGE)
  code?: string;

  /** A passkey made with the options of the invitation. */
  @IsGivenOrAbsent()
  @IsObject()
  credential?: Record<string, unknown>;
}

export class NewPasswordBody {
  @IsFilledText(MAX_PASSWORD_UNITS)
  current!: string;

  @IsFilledText(MAX_PASSWORD_UNITS)
  new!: string;
}

export class NewPasskeyBody extends CredentialBody {
  @IsName()
  name!: string;
}

export class OidcStartBody {
  /** Where the browser goes then: a path of the console's origin. */
  @IsGivenOrAbsent()
  @IsString()
  @MaxLength(1_000)
  return_to?: string;

  /** The session that there is shows a second factor at the identity provider. */
  @IsGivenOrAbsent()
  @IsBoolean()
  step_up?: boolean;

  /** What stands behind the `#` of an invitation's link. */
  @IsGivenOrAbsent()
  @IsFilledText(128)
  invitation?: string;
}
