import { IsIn, ValidateBy } from 'class-validator';
import { IsGivenOrAbsent, IsName } from '../../http/body-rules.js';
import { KEY_ALGORITHMS, type KeyAlgorithm, type KeyUse } from './key-algorithms.js';

const MAX_KEY_CHARACTERS = 4_096;

export class ClientKeyBody {
  @IsName()
  name!: string;

  /** `signing` unless given: signs requests. `authentication`: private_key_jwt at the token endpoint. */
  @IsGivenOrAbsent()
  @IsIn(['signing', 'authentication'])
  use?: KeyUse;

  /** Follows from the public key unless given; `hmac-sha256` asks for a secret instead of a public key. */
  @IsGivenOrAbsent()
  @IsIn(KEY_ALGORITHMS)
  algorithm?: KeyAlgorithm;

  /** SPKI as PEM text, or a JWK as an object. */
  @IsGivenOrAbsent()
  @IsKeyText()
  public_key?: string | Record<string, unknown>;
}

/** PEM or JWK by its outer shape; what is inside is read afterwards. */
function IsKeyText(): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isKeyText',
      validator: {
        validate: (value: unknown) =>
          (typeof value === 'string' && value.length <= MAX_KEY_CHARACTERS) ||
          (typeof value === 'object' && value !== null && !Array.isArray(value)),
        defaultMessage: () => 'public_key must be PEM text or a JWK object',
      },
    },
    { context: { code: 'invalid_type' } },
  );
}
