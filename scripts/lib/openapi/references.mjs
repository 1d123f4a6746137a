/** @typedef {Record<string, any>} Schema */

/**
 * @param {Schema} description
 * @returns {(schema: Schema) => Schema} follows `$ref` to what the description calls by that name
 */
export function resolverOf({ components }) {
  /** @param {Schema} schema @returns {Schema} */
  const resolve = (schema) => {
    const name = schema['$ref']?.split('/').at(-1);
    return name === undefined ? schema : resolve(components.schemas[name] ?? {});
  };
  return resolve;
}
