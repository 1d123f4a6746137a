import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { inNfc, validationProblem } from '#shapes';

/** By the rules of the API's own bodies. @throws Problem 422 */
export function checked<T extends object>(type: new () => T, values: object): T {
  const instance = plainToInstance(type, inNfc({ ...values }));
  const violations = validateSync(instance, { whitelist: true, forbidNonWhitelisted: true });
  if (violations.length > 0) throw validationProblem(violations);
  return instance;
}
