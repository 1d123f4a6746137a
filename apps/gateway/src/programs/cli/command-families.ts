import { Injectable } from '@nestjs/common';
import type { Program } from './actor.js';
import { ArchiveCommands } from './archive-commands.js';
import { CatalogCommands } from './catalog-commands.js';
import { ClassifierCommands } from './classifier-commands.js';
import type { ReadCommand } from './read-arguments.js';
import { RestoreCommands } from './restore-commands.js';
import { UserCommands } from './user-commands.js';

/** Commands about one thing. */
interface CommandFamily {
  /** @returns what is printed @throws UsageError, Problem */
  run(command: ReadCommand, program: Program): Promise<unknown>;
}

/** Which commands are carried out by whom. */
@Injectable()
export class CommandFamilies {
  constructor(
    private readonly archive: ArchiveCommands,
    private readonly catalog: CatalogCommands,
    private readonly classifier: ClassifierCommands,
    private readonly restore: RestoreCommands,
    private readonly users: UserCommands,
  ) {}

  /** Null: none of them. */
  of({ name }: ReadCommand): CommandFamily | null {
    const families = {
      archive: this.archive,
      catalog: this.catalog,
      classifier: this.classifier,
      restore: this.restore,
      users: this.users,
    };
    const [noun = ''] = name.split(' ');
    return Object.hasOwn(families, noun) ? families[noun as keyof typeof families] : null;
  }
}
