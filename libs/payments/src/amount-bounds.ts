import { optional, type AccountFields, type ReadValue } from '#outgoing';
import type { FieldFault, ProviderDefinition } from './definition.js';
import type { ProviderCapabilities } from './port.js';

/** Whole tiyin, few enough digits to be a number exactly. Empty: no bound, also to take one away again. */
const BOUND = optional({ pattern: /^(?:[1-9]\d{0,14})?$/ });

/** The sums that an account takes are its merchant's and its contract's to say, at any provider. */
const BOUND_FIELDS: AccountFields = { least_amount: BOUND, most_amount: BOUND };

/** Gives a provider's accounts the two bounds; what the provider itself says of them stays. */
export function withAmountBounds(definition: ProviderDefinition): ProviderDefinition {
  return {
    ...definition,
    fields: { ...BOUND_FIELDS, ...definition.fields },
    faults: (read) => [...(definition.faults?.(read) ?? []), ...boundFaults(definition, read)],
    capabilities: (read) => bounded(definition.capabilities(read), read),
  };
}

function bounded(capabilities: ProviderCapabilities, read: ReadValue): ProviderCapabilities {
  const [least, most] = [read('least_amount'), read('most_amount')];
  if (least === '' && most === '') return capabilities;
  const { amountTiyin: own = { least: 0, most: Number.MAX_SAFE_INTEGER } } = capabilities;
  return {
    ...capabilities,
    amountTiyin: {
      least: Math.max(own.least, Number(least)),
      most: Math.min(own.most, most === '' ? own.most : Number(most)),
    },
  };
}

/** An account that takes no sum at all is a mistake. */
function boundFaults(definition: ProviderDefinition, read: ReadValue): FieldFault[] {
  // What is no bound has a fault of its own.
  if (!Object.keys(BOUND_FIELDS).every((name) => BOUND.pattern.test(read(name)))) return [];
  const { amountTiyin: range } = bounded(definition.capabilities(read), read);
  if (!range || range.least <= range.most) return [];
  const detail = `no sum is from ${String(range.least)} up to ${String(range.most)} tiyin: least_amount must not be above most_amount`;
  return [{ field: read('most_amount') === '' ? 'least_amount' : 'most_amount', code: 'out_of_range', detail }];
}
