import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useLanguage, useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { RadioField, SelectField, TextField } from '../../ui/field.js';
import { Card, Facts, Money, Time } from '../../ui/shown.js';
import { Empty, faultAt, Loaded, withScope } from '../../ui/states.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { PROVIDERS } from '../accounts/providers.js';
import { draftOf, FIELD_OF, NEW_RULE, ruleOf, type Provider, type RuleDraft } from './routing-draft.js';

type Routing = Schema<'RoutingView'>;
type Prefer = Routing['prefer'];

/** Which provider takes a payment that names none. */
export const PaymentRouting = withScope('clients:read', Rules);

function Rules(): ReactElement {
  const { routing: words } = useWords();
  const { can } = useSession();
  const [isChanging, setChanging] = useState(false);
  const query = useGet(['payment-routing'], '/v1/payment-routing');
  return (
    <Loaded query={query}>
      {(found) => (
        <Card
          title={words.title}
          actions={
            can('clients:admin') && !isChanging ? (
              <Button onClick={() => setChanging(true)}>{words.change}</Button>
            ) : undefined
          }
        >
          <p className="hint">{words.text}</p>
          {isChanging ? <RulesForm found={found} onDone={() => setChanging(false)} /> : <Shown found={found} />}
        </Card>
      )}
    </Loaded>
  );
}

function Shown({ found: { prefer, rules, updated_at: updatedAt } }: { found: Routing }): ReactElement {
  const { routing: words } = useWords();
  if (rules.length === 0) return <Empty>{words.noAccounts}</Empty>;
  return (
    <>
      <p>
        <strong>{words.prefers[prefer]}</strong> {updatedAt === null ? words.byAge : <Time at={updatedAt} />}
      </p>
      <ol className="tiles tiles-wide">
        {rules.map((rule, place) => (
          <li key={place} className="tile">
            <div className="tile-head">
              <strong>
                {place + 1}. {rule.provider}
              </strong>
            </div>
            <RuleFacts rule={rule} />
          </li>
        ))}
      </ol>
    </>
  );
}

function RuleFacts({ rule }: { rule: Schema<'ProviderRule'> }): ReactElement {
  const { language, words: all } = useLanguage();
  const words = all.routing;
  const sum = (tiyin: number | undefined): ReactElement | null =>
    tiyin === undefined ? null : <Money tiyin={tiyin} />;
  const { percent } = draftOf(rule, language);
  return (
    <Facts
      rows={[
        [words.least, sum(rule.amount_min)],
        [words.most, sum(rule.amount_max)],
        [words.cards, rule.card_ranges?.join(', ')],
        [words.percent, percent === '' ? null : `${percent} %`],
        [words.fixed, sum(rule.cost_fixed)],
      ]}
    />
  );
}

interface Typed {
  prefer: Prefer;
  rules: RuleDraft[];
}

function RulesForm({ found, onDone }: { found: Routing; onDone: () => void }): ReactElement {
  const { language, words: all } = useLanguage();
  const { routing: words, action } = all;
  const [draft, change, clear] = useDraft<Typed>('payment-routing', {
    prefer: found.prefer,
    rules: found.rules.map((rule) => draftOf(rule, language)),
  });
  const read = draft.rules.map(ruleOf);
  const isReadable = read.every((one) => 'rule' in one);
  const save = useChange(
    () => {
      const rules = read.flatMap((one) => ('rule' in one ? [one.rule] : []));
      return api('put', '/v1/payment-routing', { body: { prefer: draft.prefer, rules } });
    },
    { clear, refreshes: [['payment-routing']], onDone },
  );
  const addRule = (): void => change({ rules: [...draft.rules, { provider: PROVIDERS[0], ...NEW_RULE }] });
  return (
    <CallForm call={save} onSubmit={() => save.mutate()} label={action.save} disabled={!isReadable}>
      <RadioField
        legend={words.prefer}
        name="prefer"
        value={draft.prefer}
        options={(['order', 'cost'] as const).map((value) => ({ value, label: words.prefers[value] }))}
        onValue={(prefer) => change({ prefer })}
      />
      <RuleList rules={draft.rules} read={read} problem={save.error} onRules={(rules) => change({ rules })} />
      <div className="row-actions">
        <Button onClick={addRule}>{words.add}</Button>
        <Button
          onClick={() => {
            clear();
            onDone();
          }}
        >
          {action.back}
        </Button>
      </div>
    </CallForm>
  );
}

interface ListProps {
  rules: RuleDraft[];
  read: ReturnType<typeof ruleOf>[];
  problem: unknown;
  onRules: (rules: RuleDraft[]) => void;
}

function RuleList({ rules, read, problem, onRules }: ListProps): ReactElement {
  const { routing: words } = useWords();
  const replace = (place: number, part: Partial<RuleDraft>): void =>
    onRules(rules.map((rule, at) => (at === place ? { ...rule, ...part } : rule)));
  return (
    <ol className="stack">
      {rules.map((rule, place) => (
        <li key={place} className="tile">
          <RuleFields
            rule={rule}
            wrong={wrongOf(read[place])}
            faultOf={(field) => faultAt(problem, `/rules/${String(place)}/${field}`)}
            onChange={(part) => replace(place, part)}
          />
          <div className="row-actions">
            <Button
              disabled={place === 0}
              onClick={() => onRules(raised(rules, place))}
              aria-label={`${words.raise}: ${String(place + 1)}. ${rule.provider}`}
            >
              ↑
            </Button>
            <Button
              onClick={() => onRules(rules.filter((_rule, at) => at !== place))}
              aria-label={`${words.remove}: ${String(place + 1)}. ${rule.provider}`}
            >
              {words.remove}
            </Button>
          </div>
        </li>
      ))}
    </ol>
  );
}

function wrongOf(read: ReturnType<typeof ruleOf> | undefined): keyof typeof FIELD_OF | null {
  return read !== undefined && 'wrong' in read ? read.wrong : null;
}

function raised(rules: readonly RuleDraft[], place: number): RuleDraft[] {
  const next = [...rules];
  const [rule] = next.splice(place, 1);
  if (rule) next.splice(place - 1, 0, rule);
  return next;
}

interface FieldsProps {
  rule: RuleDraft;
  wrong: keyof typeof FIELD_OF | null;
  /** What the gateway refused, by the field of the body. */
  faultOf: (field: string) => string | null;
  onChange: (part: Partial<RuleDraft>) => void;
}

function RuleFields({ rule, wrong, faultOf, onChange }: FieldsProps): ReactElement {
  const { routing: words } = useWords();
  const field = (name: keyof typeof FIELD_OF, hint?: string): ReactElement => (
    <TextField
      label={words[name]}
      value={rule[name]}
      hint={hint}
      error={wrong === name ? words.noNumber : faultOf(FIELD_OF[name])}
      onValue={(value) => onChange({ [name]: value })}
    />
  );
  return (
    <div className="form-row">
      <SelectField
        label={words.provider}
        value={rule.provider}
        options={PROVIDERS.map((value) => ({ value, label: value }))}
        error={faultOf('provider')}
        onValue={(value) => onChange({ provider: value as Provider })}
      />
      {field('least')}
      {field('most')}
      {field('cards', words.cardsHint)}
      {field('percent')}
      {field('fixed')}
    </div>
  );
}
