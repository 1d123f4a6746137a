import { Injectable } from '@nestjs/common';
import type { Program } from './actor.js';
import { CatalogCommands } from './catalog-commands.js';
import { ClassifierCommands } from './classifier-commands.js';
import { RestoreCommands } from './restore-commands.js';
import { UserCommands } from './user-commands.js';

/** Commands about one thing, with options of their own. */
interface CommandFamily {
  /** @returns what is printed @throws UsageError, Problem */
  run(args: readonly string[], program: Program): Promise<unknown>;
}

/** Which commands read their arguments themselves. */
@Injectable()
export class CommandFamilies {
  constructor(
    private readonly catalog: CatalogCommands,
    private readonly classifier: ClassifierCommands,
    private readonly restore: RestoreCommands,
    private readonly users: UserCommands,
  ) {}

  /** Null: none of them. */
  of(args: readonly string[]): CommandFamily | null {
    if (CatalogCommands.knows(args)) return this.catalog;
    if (ClassifierCommands.knows(args)) return this.classifier;
    if (RestoreCommands.knows(args)) return this.restore;
    return UserCommands.knows(args) ? this.users : null;
  }
}
