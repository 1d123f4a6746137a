import { IsBoolean, IsIn, IsObject, IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { CHANNELS, MESSAGE_LANGUAGES, type MessageChannel, type MessageLanguage } from '#messages';
import {
  IsBoundedText,
  IsGivenOrAbsent,
  IsName,
  IsTextUpTo,
  IsTimeOfDay,
  IsWholeNumber,
} from '../../http/body-rules.js';
import { PageQuery } from '../../http/paging.js';

const MAX_PER_MINUTE = 60_000;
/** Line breaks belong to a template; other control characters do not. */
const TEMPLATE_TEXT = /^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f]*$/u;

export class AccountChangeBody {
  @IsGivenOrAbsent()
  @IsName()
  name?: string;

  /** Texts by name, secrets among them: docs/messages.md. */
  @IsGivenOrAbsent()
  @IsObject()
  settings?: Record<string, string>;

  /** Messages a minute at most; 60 unless given. */
  @IsGivenOrAbsent()
  @IsWholeNumber(1, MAX_PER_MINUTE)
  per_minute?: number;

  /** Tashkent; with `quiet_until`: in between only what a buyer has just asked for is sent. Null: none. */
  @IsOptional()
  @IsTimeOfDay()
  quiet_from?: string | null;

  @IsOptional()
  @IsTimeOfDay()
  quiet_until?: string | null;

  /** `true` begins anew after a wrong key. */
  @IsGivenOrAbsent()
  @IsBoolean()
  enabled?: boolean;
}

export class NewAccountBody extends AccountChangeBody {
  /** `smtp`, `eskiz`, `playmobile` or `telegram`. */
  @IsString()
  @MaxLength(32)
  provider!: string;
}

export class SendReceiptBody {
  @IsIn(CHANNELS)
  channel!: MessageChannel;

  /** Left out: as the receipt's customer says. For `telegram` the phone that was proven to the bot. */
  @IsOptional()
  @IsBoundedText(254, 3)
  to?: string;

  /** Left out: the receipt's, then Uzbek. */
  @IsOptional()
  @IsIn(MESSAGE_LANGUAGES)
  language?: MessageLanguage;
}

export class MessagesQuery extends PageQuery {
  @IsOptional()
  @IsIn(['pending', 'sending', 'unclear', 'sent', 'delivered', 'failed'])
  state?: 'pending' | 'sending' | 'unclear' | 'sent' | 'delivered' | 'failed';
}

export class TemplateBody {
  @IsIn(CHANNELS)
  channel!: MessageChannel;

  @IsIn(MESSAGE_LANGUAGES)
  language!: MessageLanguage;

  /** Of an e-mail. */
  @IsOptional()
  @IsTextUpTo(150)
  subject?: string | null;

  /** With {merchant}, {kind}, {total}, {date}, {number}, {link}. Null: as it comes. */
  @IsOptional()
  @IsString()
  @MaxLength(2_000)
  @Matches(TEMPLATE_TEXT, { message: 'text must not contain control characters' })
  text?: string | null;
}

export class PreviewBody extends TemplateBody {
  /** Whose sums and link are shown. */
  @IsString()
  @Matches(/^rcp_[0-9a-z]{26}$/)
  receipt_id!: string;
}

export class TestMessageBody {
  @IsBoundedText(254, 3)
  to!: string;

  /** Which receipt is sent; it must be registered. */
  @IsString()
  @Matches(/^rcp_[0-9a-z]{26}$/)
  receipt_id!: string;

  @IsOptional()
  @IsIn(MESSAGE_LANGUAGES)
  language?: MessageLanguage;
}

export class SuppressionBody {
  @IsIn(['email', 'sms'])
  channel!: 'email' | 'sms';

  @IsBoundedText(254, 3)
  address!: string;
}
