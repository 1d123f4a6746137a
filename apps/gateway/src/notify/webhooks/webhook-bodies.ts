import { ArrayMaxSize, ArrayMinSize, IsArray, IsBoolean, IsIn, IsOptional, Matches } from 'class-validator';
import { EVENT_PATTERN, AreEventPatterns } from '../events/event-patterns.js';
import { IsGivenOrAbsent, IsLink, IsTextUpTo, IsWholeNumber } from '../../http/body-rules.js';
import { PageQuery } from '../../http/paging.js';
import { IsPlainText, IsTimestamp } from '../../http/query-rules.js';

const PATTERN = { each: true, message: 'events must be types such as receipt.registered, receipt.* or *' };

/** What may be left out when a webhook is made, and later. */
class WebhookOptions {
  /** `receipt.registered`, `receipt.*`; everything when it is made, unless given. */
  @IsGivenOrAbsent()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(50)
  @Matches(EVENT_PATTERN, PATTERN)
  events?: string[];

  @IsGivenOrAbsent()
  @IsTextUpTo(256)
  description?: string;

  /** Events in one request, as a list. 1, the default: each on its own, in the form of Standard Webhooks alone. */
  @IsGivenOrAbsent()
  @IsWholeNumber(1, 100)
  batch_size?: number;
}

export class WebhookBody extends WebhookOptions {
  @IsLink(2048)
  url!: string;
}

export class WebhookPatch extends WebhookOptions {
  @IsGivenOrAbsent()
  @IsLink(2048)
  url?: string;

  /** False: nothing is sent and nothing new is queued. True: what waited goes out. */
  @IsGivenOrAbsent()
  @IsBoolean()
  enabled?: boolean;
}

export class RotateSecretBody {
  /** How long the secret before signs beside the new one. Default 24, at most a week. */
  @IsOptional()
  @IsWholeNumber(0, 168)
  overlap_hours?: number;
}

/** Either `event_id`, or `from` and `to`. */
export class ReplayBody {
  @IsGivenOrAbsent()
  @IsPlainText(64)
  event_id?: string;

  /** Within. */
  @IsGivenOrAbsent()
  @IsTimestamp()
  from?: string;

  /** Not within. */
  @IsGivenOrAbsent()
  @IsTimestamp()
  to?: string;
}

/** What was given up between two times, at most 31 days apart. */
export class RecoverBody {
  /** Within. */
  @IsTimestamp()
  from!: string;

  /** Not within. */
  @IsTimestamp()
  to!: string;
}

/** Everything that is given must hold. */
export class DeliveriesQuery extends PageQuery {
  @IsOptional()
  @IsIn(['pending', 'delivered', 'failed'])
  state?: 'pending' | 'delivered' | 'failed';

  /** Patterns joined by commas: `receipt.registered`, `receipt.*`. */
  @IsOptional()
  @AreEventPatterns()
  type?: string;

  /** Of the last attempt: `500`, or `5xx` for all of its kind. */
  @IsOptional()
  @Matches(/^[1-5](xx|\d\d)$/, { message: 'http_status must be a status such as 503, or 5xx' })
  http_status?: string;

  /** The receipt, device … that the event is about. */
  @IsOptional()
  @IsPlainText(64)
  subject_id?: string;

  /** Within. */
  @IsOptional()
  @IsTimestamp()
  created_from?: string;

  /** Not within. */
  @IsOptional()
  @IsTimestamp()
  created_to?: string;
}

export class CallbacksQuery extends PageQuery {
  /** Whose callbacks are shown. */
  @IsPlainText(64)
  receipt_id!: string;
}
