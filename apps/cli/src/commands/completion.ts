import type { Command, Option } from 'commander';
import { CommandError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { inSession, type Session, type World } from '../session.js';

/** What the shells call, so that a script that was installed once knows the commands of every later version. */
export const CANDIDATES = '__complete';

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_fgw() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(fgw ${CANDIDATES} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _fgw fgw`,
  zsh: `#compdef fgw
_fgw() {
  local -a found
  found=("\${(@f)$(fgw ${CANDIDATES} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -- $found || _files
}
compdef _fgw fgw`,
};

export function addCompletion(program: Command, world: World): void {
  program
    .command('completion')
    .argument('<shell>', Object.keys(SCRIPTS).join(' or '))
    .description('a script for the shell: source <(fgw completion bash)')
    .action(inSession<[string]>(world, printScript));
}

function printScript({ output }: Session, shell: string): Promise<ExitCode> {
  const script = SCRIPTS[shell];
  if (script === undefined) throw new CommandError(`There is completion for ${Object.keys(SCRIPTS).join(' and ')}.`);
  output.line(script);
  return Promise.resolve(EXIT.done);
}

/** @param words after `fgw`; the last one is being written */
export function candidatesOf(program: Command, words: readonly string[]): string[] {
  const written = words.at(-1) ?? '';
  let command = program;
  for (const word of words.slice(0, -1)) command = command.commands.find((one) => one.name() === word) ?? command;
  if (command.name() === 'completion') return Object.keys(SCRIPTS);
  if (written.startsWith('-')) return [...optionsOf(command), ...optionsOf(program)];
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name());
}

function optionsOf(command: Command): string[] {
  return command.options.map(({ long }: Option) => long ?? '').filter((name) => name !== '');
}
