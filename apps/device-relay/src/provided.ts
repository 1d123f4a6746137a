import type { FactoryProvider, Type } from '@nestjs/common';

/** A class that knows no framework, made of what its constructor takes: each by its token, in that order. */
export function provided<Parts extends unknown[], Made>(
  made: new (...parts: Parts) => Made,
  ...tokens: { [Place in keyof Parts]: Type<Parts[Place]> | symbol }
): FactoryProvider<Made> {
  return { provide: made, inject: tokens, useFactory: (...parts: Parts) => new made(...parts) };
}
