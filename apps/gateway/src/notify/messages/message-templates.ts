import { Injectable } from '@nestjs/common';
import { PrismaService, StatementGroup } from '#database';
import {
  CHANNELS,
  DEFAULT_TEMPLATES,
  MESSAGE_LANGUAGES,
  templateFault,
  type MessageChannel,
  type MessageLanguage,
  type MessageTemplate,
} from '#messages';
import { Problem, type ProblemError } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import type { TemplateBody } from './message-bodies.js';

export interface TemplateView {
  channel: MessageChannel;
  language: MessageLanguage;
  /** Of an e-mail; empty for other channels. */
  subject: string;
  text: string;
  /** The merchant has not worded it. */
  is_default: boolean;
}

/** Without a text: as it comes. */
type TemplateInput = TemplateBody & { text: string | null };

interface Wanted {
  merchantId: string;
  channel: MessageChannel;
  language: MessageLanguage;
}

/** How a merchant words its messages: texts with names in braces, no more. */
@Injectable()
export class MessageTemplates {
  private readonly wanted = new StatementGroup((group: readonly Wanted[]) => this.read(group));

  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  of(merchantId: string, channel: MessageChannel, language: MessageLanguage): Promise<MessageTemplate> {
    return this.wanted.one({ merchantId, channel, language });
  }

  private async read(group: readonly Wanted[]): Promise<MessageTemplate[]> {
    const merchantIds = [...new Set(group.map(({ merchantId }) => merchantId))];
    const rows = await this.prisma.messageTemplate.findMany({ where: { merchantId: { in: merchantIds } } });
    return group.map(({ merchantId, channel, language }) => {
      const own = rows.find(
        (row) => row.merchantId === merchantId && row.channel === channel && row.language === language,
      );
      return own ? { subject: own.subject, text: own.text } : DEFAULT_TEMPLATES[channel][language];
    });
  }

  async list(merchantId: string): Promise<TemplateView[]> {
    const rows = await this.prisma.messageTemplate.findMany({ where: { merchantId } });
    return CHANNELS.flatMap((channel) =>
      MESSAGE_LANGUAGES.map((language) => {
        const own = rows.find((row) => row.channel === channel && row.language === language);
        const { subject, text } = own ?? DEFAULT_TEMPLATES[channel][language];
        return { channel, language, subject, text, is_default: own === undefined };
      }),
    );
  }

  /** @throws Problem 422 */
  async change(caller: Caller, input: TemplateInput): Promise<TemplateView> {
    const { merchantId } = caller;
    const { channel, language } = input;
    const template = input.text === null ? null : checkedTemplate(input);
    return this.changes.execute(caller, async (tx) => {
      const where = { merchantId_channel_language: { merchantId, channel, language } };
      const before = await tx.messageTemplate.findUnique({ where });
      if (template === null) await tx.messageTemplate.deleteMany({ where: { merchantId, channel, language } });
      else {
        const data = { ...template, updatedAt: new Date() };
        await tx.messageTemplate.upsert({
          where,
          create: { merchantId, channel, language, ...template },
          update: data,
        });
      }
      const result = {
        channel,
        language,
        ...(template ?? DEFAULT_TEMPLATES[channel][language]),
        is_default: template === null,
      };
      const was = before && { channel, language, subject: before.subject, text: before.text };
      return { result, action: 'message_template.change', targetId: merchantId, before: was, after: result };
    });
  }
}

/** @throws Problem 422 */
export function checkedTemplate({ channel, subject: given, text }: TemplateInput): MessageTemplate {
  const subject = given ?? '';
  const faults: ProblemError[] = [];
  for (const [field, value] of [
    ['subject', subject],
    ['text', text ?? ''],
  ] as const) {
    const fault = templateFault(value);
    if (fault !== null) faults.push({ pointer: `/${field}`, code: 'invalid_value', detail: `${field} ${fault}` });
  }
  if (channel === 'email' && subject.trim() === '')
    faults.push({ pointer: '/subject', code: 'required', detail: 'An e-mail needs a subject.' });
  if (channel !== 'email' && subject !== '')
    faults.push({ pointer: '/subject', code: 'invalid_value', detail: 'Only an e-mail has a subject.' });
  if (channel !== 'email' && text?.includes('{link}') === false)
    faults.push({
      pointer: '/text',
      code: 'invalid_value',
      detail: 'text needs {link}: without it there is no receipt',
    });
  if (faults.length > 0) throw Problem.fromErrors(faults);
  return { subject, text: text ?? '' };
}
