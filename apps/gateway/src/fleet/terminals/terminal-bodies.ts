import { IsBoundedText } from '../../http/body-rules.js';

export class TerminalProofBody {
  /** Of the receipt with the word of the challenge: the address in its QR code. */
  @IsBoundedText(2048)
  verification_url!: string;
}
