import type { Command } from 'commander';
import { FiscalGateway, type ClientOptions, type ResponseInfo, type RetryInfo } from '#sdk';
import type { ExitCode } from './exit-codes.js';
import { Colours } from './output/colours.js';
import { Output, type Streams } from './output/output.js';
import { clientOptionsOf, effectiveProfile, Profiles, type Profile } from './profiles.js';
import { readEnvironment, type Environment } from './settings.js';

/** What surrounds the program; a test gives its own. */
export interface World {
  environment: Environment;
  streams: Streams;
  stdin: NodeJS.ReadStream;
  /** Whether people read standard output. */
  isTerminal: boolean;
  /** Ctrl-C. */
  stopping: AbortSignal;
  /** Set by the command that ran. */
  exitCode: ExitCode;
}

/** Known to every command, before and after its name. */
export interface GlobalOptions {
  json?: boolean;
  profile?: string;
  url?: string;
  insecure?: boolean;
  color?: boolean;
}

const DEFAULT_PROFILE = 'default';
const PATIENT = { attempts: Number.MAX_SAFE_INTEGER, maxElapsedMs: Number.MAX_SAFE_INTEGER, maxMs: 5_000 };

export function thisProcess(stopping: AbortSignal): World {
  return {
    environment: readEnvironment(),
    streams: process,
    stdin: process.stdin,
    isTerminal: process.stdout.isTTY,
    stopping,
    exitCode: 0,
  };
}

/** One run of one command. */
export class Session {
  readonly output: Output;
  readonly profiles: Profiles;
  readonly profileName: string;

  constructor(
    readonly world: World,
    readonly globals: GlobalOptions,
  ) {
    this.output = outputOf(world, globals);
    this.profiles = new Profiles(world.environment.configFile);
    this.profileName = globals.profile ?? world.environment.profile ?? DEFAULT_PROFILE;
  }

  get stopping(): AbortSignal {
    return this.world.stopping;
  }

  /** Credentials may go by http to another machine. */
  get isInsecure(): boolean {
    return this.globals.insecure === true;
  }

  /** @throws NoProfileError @throws UsageError */
  async profile(): Promise<Profile> {
    const kept = await this.profiles.find(this.profileName);
    return effectiveProfile(kept, this.world.environment, this.globals.url ?? null);
  }

  /** @throws NoProfileError @throws UsageError */
  async client(): Promise<FiscalGateway> {
    return new FiscalGateway(await this.clientOptions());
  }

  /** For commands that stay: it waits for a gateway that is away, and says so. @throws NoProfileError @throws UsageError */
  async patientClient(): Promise<FiscalGateway> {
    let isAway = false;
    const hooks = {
      onRetry: ({ status, error }: RetryInfo): void => {
        if (!isAway) this.output.note(`The gateway is away (${reasonOf(status, error)}); trying again …`);
        isAway = true;
      },
      onResponse: ({ status }: ResponseInfo): void => {
        if (isAway && status !== null && status < 400) this.output.note('The gateway is back.');
        if (status !== null && status < 400) isAway = false;
      },
    };
    return new FiscalGateway({ ...(await this.clientOptions()), retry: PATIENT, hooks });
  }

  private async clientOptions(): Promise<ClientOptions> {
    return clientOptionsOf(await this.profile(), this);
  }
}

function reasonOf(status: number | null, error: unknown): string {
  if (status !== null) return `it answers ${status}`;
  const { cause, message } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}

/** A flag decides, then the environment, then whether standard output is a terminal. */
export function outputOf({ environment, streams, isTerminal }: World, { json, color }: GlobalOptions): Output {
  const isWanted = color !== false && !environment.refusesColour && json !== true;
  const areOn = isWanted && (environment.forcesColour || isTerminal);
  return new Output(streams, new Colours(areOn), json === true);
}

/** Lets a command work in a session; what it returns becomes the exit code. */
export function inSession<Args extends unknown[]>(
  world: World,
  work: (session: Session, ...args: Args) => Promise<ExitCode>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    // Commander calls with the arguments, the options and the command itself.
    const command = given.at(-1) as Command;
    const session = new Session(world, command.optsWithGlobals<GlobalOptions>());
    world.exitCode = await work(session, ...(given.slice(0, -1) as Args));
  };
}
