import { IsString, MaxLength, MinLength } from 'class-validator';
import { IsCleanText } from '../../http/body-constraints.js';

export class TerminalProofBody {
  /** Of the receipt with the word of the challenge: the address in its QR code. */
  @IsString()
  @MinLength(1)
  @MaxLength(2048)
  @IsCleanText()
  verification_url!: string;
}
