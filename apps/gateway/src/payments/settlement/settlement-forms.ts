import { Injectable } from '@nestjs/common';
import type { ProviderCode } from '#payments';
import { Problem } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { DEFAULT_FORMS } from './default-forms.js';
import type { RegisterForm } from './register-form.js';
import { SettlementRepository } from './settlement.repository.js';

/** As the API shows it. */
export interface FormView extends RegisterForm {
  provider: ProviderCode;
  /** What is assumed of this provider's file, as no form is published. */
  is_default: boolean;
}

/** What a merchant has found its providers' registers to look like. */
@Injectable()
export class SettlementForms {
  constructor(
    private readonly settlements: SettlementRepository,
    private readonly changes: AuditedChange,
  ) {}

  async find(merchantId: string, provider: ProviderCode): Promise<FormView> {
    const form = await this.settlements.form(merchantId, provider);
    return { provider, is_default: form === null, ...(form ?? DEFAULT_FORMS[provider]) };
  }

  /** @throws Problem 422: a form by which no row would name a payment */
  async replace(caller: Caller, provider: ProviderCode, form: RegisterForm): Promise<FormView> {
    const { columns } = form;
    const refs = [...(columns.provider_ref ?? []), ...(columns.our_ref ?? [])];
    if (refs.length === 0) {
      const detail = 'Name the column of the provider’s id or of ours: without one no row is about a payment.';
      throw Problem.at('/columns/provider_ref', 'required', detail);
    }
    const { merchantId } = caller;
    return this.changes.execute(caller, async (tx) => {
      const [before] = await tx.$queryRaw<{ form: RegisterForm }[]>`
        SELECT form FROM settlement_forms WHERE merchant_id = ${merchantId} AND provider = ${provider} FOR UPDATE`;
      await tx.$executeRaw`
        INSERT INTO settlement_forms (merchant_id, provider, form)
        VALUES (${merchantId}, ${provider}, ${JSON.stringify(form)}::jsonb)
        ON CONFLICT (merchant_id, provider) DO UPDATE SET form = excluded.form, updated_at = now()`;
      const result = { provider, is_default: false, ...form };
      const change = { before: before?.form ?? null, after: form };
      return { result, action: 'settlement_form.replace', targetId: merchantId, ...change };
    });
  }
}
