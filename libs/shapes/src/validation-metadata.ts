import { getMetadataStorage } from 'class-validator';

type Storage = ReturnType<typeof getMetadataStorage>;
type Metadata = ReturnType<Storage['getTargetValidationMetadatas']>;

/**
 * class-validator works out the rules of a class anew for every object that it validates, by a walk over all classes
 * that have rules: for a receipt of three items five times. Decorators have all run before the first request, so the
 * result is kept per class (docs/adr/0070-what-accepting-costs.md). Validation by group is left as it is.
 */
export function keepValidationMetadata(storage: Storage = getMetadataStorage()): void {
  const find = storage.getTargetValidationMetadatas.bind(storage);
  const group = storage.groupByPropertyName.bind(storage);
  const found = new WeakMap<object, Metadata>();
  const grouped = new WeakMap<Metadata, ReturnType<Storage['groupByPropertyName']>>();

  storage.getTargetValidationMetadatas = (...args): Metadata => {
    const [target, , , , groups] = args;
    if (groups !== undefined && groups.length > 0) return find(...args);
    const known = found.get(target);
    if (known !== undefined) return known;
    const metadata = find(...args);
    found.set(target, metadata);
    return metadata;
  };
  storage.groupByPropertyName = (metadata) => {
    const known = grouped.get(metadata);
    if (known !== undefined) return known;
    const groups = group(metadata);
    grouped.set(metadata, groups);
    return groups;
  };
}
