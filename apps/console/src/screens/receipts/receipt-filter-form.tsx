import { useState, type FormEvent, type ReactElement } from 'react';
import { startOfDay } from '../../format/time.js';
import { useLanguage } from '../../i18n/i18n.js';
import { Button } from '../../ui/button.js';
import { SelectField, TextField, type Option } from '../../ui/field.js';
import { faultAt } from '../../ui/states.js';
import type { FilterName, ReceiptFilters } from './receipt-filters.js';
import { TIMES, toFilters, toTyped } from './typed-filters.js';
import type { Places } from './use-places.js';

interface Props {
  filters: ReceiptFilters;
  places: Places;
  /** Of the list: a filter that the gateway does not take is shown at its field. */
  problem: unknown;
  onApply: (filters: ReceiptFilters) => void;
}

export function ReceiptFilterForm({ filters, places, problem, onApply }: Props): ReactElement {
  const { language, words } = useLanguage();
  const { filter, status, type } = words.receipts;
  const [typed, setTyped] = useState(() => toTyped(filters, language));
  const any: Option = { value: '', label: filter.any };
  const choices = (labels: Record<string, string>): Option[] => [
    any,
    ...Object.entries(labels).map(([value, label]) => ({ value, label })),
  ];
  const field = (
    name: FilterName,
  ): { label: string; value: string; error: string | null; onValue: (value: string) => void } => ({
    label: filter[name],
    value: typed[name],
    error: faultAt(problem, `/${name}`),
    onValue: (value) => setTyped((before) => ({ ...before, [name]: value })),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onApply(toFilters(typed, filters));
  };
  /** A day of Tashkent, whatever else is typed. */
  const ofDay = (daysAgo: number): void => {
    const day = { created_from: startOfDay(daysAgo), created_to: startOfDay(daysAgo - 1) };
    const next = { ...toFilters(typed, filters), ...day };
    setTyped(toTyped(next, language));
    onApply(next);
  };
  const reset = (): void => {
    setTyped(toTyped({}, language));
    onApply({});
  };
  return (
    <form className="filters" onSubmit={submit} role="search" aria-label={words.receipts.filters}>
      <SelectField {...field('status')} options={choices(status)} />
      <SelectField {...field('type')} options={choices(type)} />
      <TextField {...field('external_id')} />
      <TextField {...field('terminal_id')} />
      <TextField {...field('receipt_seq')} inputMode="numeric" />
      <SelectField {...field('device_id')} options={[any, ...kept(places.devices, typed.device_id)]} />
      <SelectField {...field('branch_id')} options={[any, ...kept(places.branches, typed.branch_id)]} />
      <SelectField {...field('cashier_id')} options={[any, ...kept(places.cashiers, typed.cashier_id)]} />
      <TextField {...field('total_min')} inputMode="decimal" />
      <TextField {...field('total_max')} inputMode="decimal" />
      {TIMES.map((name) => (
        <TextField key={name} {...field(name)} type="datetime-local" />
      ))}
      <div className="filters-actions">
        <Button type="submit" tone="primary">
          {words.action.apply}
        </Button>
        <Button onClick={reset}>{words.action.reset}</Button>
        <Button onClick={() => ofDay(0)}>{words.overview.today}</Button>
        <Button onClick={() => ofDay(1)}>{filter.yesterday}</Button>
      </div>
    </form>
  );
}

/** An id of the address that is not among them stays what it is. */
function kept(options: readonly Option[], value: string): readonly Option[] {
  return value === '' || options.some((option) => option.value === value)
    ? options
    : [{ value, label: value }, ...options];
}
